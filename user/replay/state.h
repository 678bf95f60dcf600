/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a replay: processes with their descriptors and library handles, threads with their stacks of open calls.
 * Private to user/replay. Functions return 0 or a negative errno; the first error ends the replay.
 */
#ifndef IOPROBE_STATE_H
#define IOPROBE_STATE_H

#include <ioprobe/record.h>

#include "model/build.h"
#include "model/model.h"
#include "model/mounts.h"
#include "spool/spool.h"
#include "table/table.h"
#include "util/hash.h"

#define NEVER UINT64_MAX
#define MAX_ROLES (ROLE_LAST + 1)
#define MAX_LAYERS 64
#define LOSS_NOTES_MAX 200      /* places of losses that are listed */

/* ---- what is known of a table row, ready for use ---- */

struct row_info {
	int8_t arg[MAX_ROLES];          /* captured index, -1 */
	uint8_t nout, nstrings;
	uint8_t out[IOP_MAX_ARGS];      /* captured indexes of OUT arguments */
	uint8_t strings[IOP_MAX_ARGS];  /* of STRING and array arguments */
	uint8_t element[IOP_MAX_ARGS];  /* bytes of one element of an array argument, 0: it is none */
	bool makes;                     /* open, create: a handle */
	bool uses;                      /* HANDLE is an argument that is operated on */
	bool sized;                     /* the layer has dataspaces and types by id (spaces.c) */
	bool fd;                        /* the layer's handles are descriptors */
	bool on_fd;                     /* they are handles of its own on descriptors */
	uint32_t paradigm;              /* REF_NONE */
};

/* ---- descriptors ---- */

/* One open file behind a descriptor number, from its making to the end of the close that ended it. */
struct incarnation {
	uint64_t created_ns, closed_ns; /* 0: before we looked; NEVER: open */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file;
	uint32_t status_flags;          /* OTF2 */
	uint8_t mode;                   /* OTF2 */
	uint32_t aio_ref;               /* the handle that POSIX asynchronous I/O has on it, REF_NONE */
	uint32_t other_ref, other_group;        /* the handle of another process that shares the table, REF_NONE */
	bool has_epoch, reserved;       /* reserved: used before the call that makes it has returned */
	uint32_t epoch;                 /* of the descriptor (struct iop_rec_fd_epoch) */
	uint32_t running;               /* calls that were on it when it ended: its handle is destroyed after them */
};

/* What an FD record said. */
struct description {
	uint64_t time_ns;
	uint32_t file, status_flags;
	uint8_t mode;
	bool valid;
};

/* The stream of a function that names none (printf): no address can be this. */
#define STANDARD_STREAM(n) (UINT64_MAX - 1 - (n))

#define INCARNATIONS 4                  /* that are kept, besides those on which calls are running */
struct fd_slot {
	struct incarnation *v;          /* newest first */
	unsigned n, cap;
	struct description hint;        /* not yet applied */
};

/* What a thread's records said of its next call: on a descriptor that was closed or replaced meanwhile. */
#define FD_EPOCHS 3
struct fd_epochs { struct iop_rec_fd_epoch v[FD_EPOCHS]; unsigned n; };

struct fd_table {
	struct fd_slot **fds;
	size_t nfds;
	unsigned users;
	uint32_t number;                /* of one that a scan found, 0 */
};

/* ---- library handles ---- */

struct object_key { uint64_t value; uint32_t layer, pad; };
struct object {
	struct object_key key;
	unsigned holders;               /* the hash, and frames */
	unsigned references;            /* closes that it takes beyond the first (H5Iinc_ref) */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file, comm, paradigm;
	uint32_t parent;                /* of one whose making was not seen, REF_NONE */
	bool root;                      /* a file, not an object inside one; its making was seen */
	const char *name;
	uint8_t mode;
	bool delete_on_close;
	bool closed;                    /* a call inside the one that closes it did so already */
	struct variable *variables;     /* of a file: what is known of its variables and dimensions (shapes.c) */
	struct dimension *dimensions;
	struct object *in;              /* the file that it is in; NULL for a file, or unknown */
	char *inner;                    /* its name in the file; "" for a file, NULL unknown */
	struct sized *known;            /* of a file: what is known of its objects, by name (sizes/known.c) */
	bool others_write;              /* a file that other processes may change meanwhile */
	bool collective;                /* of a netCDF file: operations on variables without a mode of their own are */
	uint64_t split_id;              /* operation of an unfinished split collective, 0 none */
	UT_hash_handle hh;
};

/* ---- locks: what is known to be held ---- */

enum lock_space { LOCK_OF_PROCESS, LOCK_OF_DESCRIPTION, LOCK_OF_FILE }; /* F_SETLK, F_OFD_SETLK, flock: see fcntl(2) */
struct held_lock {
	enum lock_space space;
	uint32_t file, handle;
	uint64_t first, last;           /* bytes */
	uint8_t kind;                   /* OTF2_LockType */
	struct held_lock *next;
};

/* ---- requests of non-blocking operations ---- */

/* scope: what the value is unique in. */
struct request_key { uint64_t value, scope; uint32_t layer, pad; };
struct request {
	struct request_key key;
	uint32_t handle;                /* model handle */
	uint64_t matching_id, asked;    /* bytes */
	uint8_t mode;                   /* OTF2 */
	bool cancel;                    /* the program has tried to cancel it */
	bool freed;                     /* the program has given it away: nobody will wait for it */
	UT_hash_handle hh;
};

/* What REQUESTS records told of the requests of a thread's next call. */
struct request_states { uint64_t enter_ns; uint16_t probe; struct iop_request_state *v; size_t n; };

/* ---- processes and threads ---- */

struct library { bool seen, parallel, known_abi, narrow; };      /* narrow: handles are 32-bit numbers, as MPICH's */
/* context: where creations from it are counted, CONTEXT_… or one of communities.c */
struct comm_value { uint64_t value; uint32_t context; UT_hash_handle hh; };
enum { CONTEXT_WORLD = TABLE_COMM_WORLD, CONTEXT_SELF = TABLE_COMM_SELF, CONTEXT_NULL = TABLE_COMM_NULL, CONTEXT_OTHERS };
#define COMMUNITY_WORLD (REF_NONE - 1)
struct open_count { const char *key; unsigned n; UT_hash_handle hh; };

struct process {
	uint32_t tgid, group;
	bool dead;
	char *cwd;                      /* NULL unknown */
	struct fd_table *table;         /* that its threads use unless they have one of their own */
	struct object *objects;
	/* The object whose contents HDF5 last began to hand to the program's functions (H5Literate), where that is always the same. */
	struct { struct object *file; char *inner; bool many_files, many_names; } iterated;
	bool from_start;                /* every call since its exec was to be seen */
	struct comm_value *comms;
	struct sized *sized, *passing;  /* HDF5's datasets, attributes, predefined types; dataspaces, types: by id (spaces.c) */
	struct comm_count *comm_counts;
	bool counts_comms;              /* every creation of a communicator was seen so far */
	bool narrow_comms;              /* they are 32-bit numbers */
	bool knows_null;                /* MPI_COMM_NULL is among them */
	struct open_count *opens;       /* of unified handles, per paradigm and path */
	struct held_lock *locks;
	struct request *requests;
	MODEL_ARRAY(uint32_t, mappings);        /* of its program: indexes in model.mappings */
	struct library libraries[MAX_LAYERS];
	unsigned nthreads;              /* in the table of threads */
	uint32_t master_location;       /* REF_NONE */
	uint64_t master_last_ns;
	struct process *next;           /* of all that ever were */
	UT_hash_handle hh;
};

/* What is told of a process late, for the definitions at the end; index = group. parent: the group that forked it, REF_NONE if
 * that was not seen; job: the launcher's name of the launch, NULL if unknown. */
struct group_info { const char *comm, *mntns, *job; int64_t rank, size; uint32_t parent, ppid; bool mpi; };

/* number: as readers see it, REF_NONE until ranks_finish. world: model comm. size: of the world, as the launcher told it, 0
 * unknown. */
struct job { const char *id; uint32_t world, number; uint64_t size; };

struct str { const char *p; size_t len; };      /* p NULL: unknown */
struct array { const char *p; size_t n; unsigned element; };    /* integers of 4 or 8 bytes; p NULL: unknown */

struct frame {
	uint16_t probe;
	bool complete;                  /* the outcome is known: a CALL record, or its EXIT was read */
	bool failed, abandoned;
	bool unseen;            /* abandoned, because its return was not observed: whether it failed is not known */
	bool doubtful;                  /* records of the thread were lost since: may be gone already */
	uint8_t unread;                 /* bits: arguments that could not be read */
	uint64_t enter_ns, leave_ns;
	int64_t ret;
	int32_t inner_error;            /* errno of the last system call inside that failed, 0 none */
	bool inner_at_end;              /* the last system call inside was a read that found nothing */
	bool end_or_error;              /* the system call that would tell which may have been filtered */
	bool at_end;                    /* so that this call found nothing either */
	int64_t args[IOP_MAX_ARGS];
	struct str str[IOP_MAX_ARGS];
	char *text;                     /* storage of str[] between ENTER and EXIT */
	size_t text_size;
	char *path;                     /* absolute, by words alone; "" if none */
	size_t path_size;

	/* a handle in the making */
	bool makes, resolved;           /* resolved: file is the kernel's, not by name */
	uint32_t ref, file, comm;
	/* a handle in use */
	struct object *object;
	uint32_t used;                  /* model handle */
	/* an operation that has begun */
	bool begun;
	uint8_t mode;                   /* OTF2 */
	uint64_t matching_id;
	uint64_t request;
	bool maps;                      /* it mapped a file: used is its handle */
	uint64_t device_bytes, wait_ns; /* with --device */
	uint32_t site;                  /* of an outermost call: model site, REF_NONE if not known */
	const struct iop_submitted *listed;     /* one of several operations of this call, while it is told */
};

/* What names an operation of libaio or io_uring (async.c). */
struct async_key { uint64_t key, context; uint32_t tgid, interface; };

struct thread {
	uint32_t tid, location;
	struct process *process;
	struct fd_table *table;
	struct fd_epochs epochs;
	uint32_t last_seq;
	uint64_t begin_ns;              /* when it was made, or first seen */
	uint64_t last_ns;               /* of the location's last event */
	uint64_t last_rec_ns;
	bool disturbed;                 /* a loss or an abandoned frame explains a clock value that is too old */
	struct frame *frames;
	unsigned nframes, cap;
	MODEL_ARRAY(struct async_key, submitted);       /* by the io_submit that is running */
	struct request_states states;
	UT_hash_handle hh;
};

/* Of one location: what may still come for it. */
struct location_use { uint64_t last_ns; uint32_t operations; bool thread_gone, ended; };

/* label: what a socket is called in the end, NULL. kernel: described by the kernel, not by a call's argument. next: another file
 * of the same path, REF_NONE. */
struct file_info {
	uint32_t group, mnt_id, next;
	uint32_t dev_major, dev_minor;  /* of the file system, as described_ns says */
	uint64_t described_ns;
	bool scanned;                   /* by stat(2), which shows other numbers than mountinfo on some file systems */
	bool regular, kernel, socket;
	const char *label;
};
struct variable_name { const char *name; uint32_t number; UT_hash_handle hh; };
struct path_entry { const char *path; uint32_t first; UT_hash_handle hh; };
struct mount_table { const char *ns; uint64_t time_ns; struct mounts mounts; };
struct unified { const char *key; uint32_t *refs; unsigned n, cap; UT_hash_handle hh; };

/* Notes of one kind, added up. */
struct gap_sum { const char *layer, *reason; size_t processes; uint64_t total_ns; };
struct gap_process { uint64_t key; UT_hash_handle hh; };        /* index of the gap_sum, process */
struct missing_sum { const char *layer, *library, *reason; MODEL_ARRAY(const char *, functions); };

struct replay {
	struct model *model;
	const struct call_sites *sites;         /* NULL: none were recorded */
	struct sink **sinks;
	size_t nsinks;
	char *err;
	size_t err_len;
	bool failed;                    /* err was set */
	bool cut;                       /* a sink is full: the trace has ended */
	bool bound_reached;
	uint64_t bound_ns;              /* the oldest record that the recorder refused at a bound is of then; 0: none */

	struct table_set set;
	struct row_info *rows;          /* of set.rows */
	uint32_t layer_paradigm[MAX_LAYERS], fd_paradigm, socket_paradigm;      /* REF_NONE */
	uint32_t abi_layer[MAX_LAYERS];         /* whose library's ABI the layer's arguments follow: its own, or another's */
	struct process *processes, *all_processes;
	struct thread *threads, *cached_thread;
	struct { struct group_info *v; size_t n, cap; } infos;
	struct { struct file_info *v; size_t n, cap; } files;
	struct path_entry *paths;
	struct { struct mount_table *v; size_t n, cap; } mounts;
	struct unified *unified;
	MODEL_ARRAY(struct job, jobs);
	uint32_t self;                  /* model comm, REF_NONE */
	bool many_batch_jobs;
	uint64_t location_base;
	MODEL_ARRAY(struct location_use, location_uses);        /* index as in model.locations */
	uint64_t last_ns;               /* newest record */
	uint64_t matching_id;
	uint64_t overlapped;            /* calls on descriptors that were closed or replaced meanwhile */
	uint64_t gap_records, lost_records, late, orphans, backwards, unknown_locks, unknown_unlocks, undescribed;
	bool counted;                   /* a STATUS or END record was there, with these: */
	uint64_t written_records, counted_lost, dropped_records;
	uint64_t read_records;          /* of the BPF programs, in the spool */
	uint64_t requests_open, requests_left, requests_freed, requests_beyond, requests_refused;
	struct async_op *async;
	uint32_t polled_row, ended_row; /* regions: the kernel's polling thread takes an operation; one on handles ends. REF_NONE */
	uint64_t async_unseen, async_unknown, async_nameless, async_other;
	size_t loss_notes;
	struct variable_name *variable_names;
	MODEL_ARRAY(struct gap_sum, gaps);
	MODEL_ARRAY(struct missing_sum, missing);
	struct gap_process *gap_processes;
	struct communities *communities;
	struct code_file_entry *code_files;
	uint64_t unknown_creations;     /* of communicators: calls */
};

/* ---- events.c ---- */
int replay_fail(struct replay *r, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int call_event(struct replay *r, struct thread *thread, struct model_event *event, uint64_t time_ns);

/* ---- registry.c: the _new ones return NULL without memory ---- */
struct process *process_new(struct replay *r, uint32_t tgid);           /* replaces the process that had the number */
struct process *process_get(struct replay *r, uint32_t tgid);           /* made if unknown */
struct thread *thread_new(struct replay *r, uint32_t tid, struct process *process);
struct thread *thread_find(struct replay *r, uint32_t tid);             /* NULL if unknown */

/* ---- process.c ---- */
struct thread *thread_get(struct replay *r, uint32_t tid, uint32_t tgid);
int process_exec_thread(struct replay *r, const struct iop_rec_exec *rec);      /* the calling thread becomes the leader */
int thread_end(struct replay *r, struct thread *thread, uint64_t time_ns);
int process_fork(struct replay *r, struct thread *thread, const struct iop_rec_fork *rec);       /* thread NULL: found by a scan */
int process_exec(struct replay *r, struct thread *thread, const struct iop_rec_exec *rec);
int process_task_exit(struct replay *r, struct thread *thread, const struct iop_rec_task_exit *rec);
int process_cwd(struct process *process, const struct iop_rec_fd *rec);
void process_free_all(struct replay *r);

/* ---- locations.c ---- */
/* thread: the one of that number, NULL if it is not known. REF_NONE without memory. */
uint32_t location_new(struct replay *r, struct process *process, uint32_t tid, const struct thread *thread);
/* An operation that may end after the thread that began it, on that one's location. location may be REF_NONE in the next three. */
void location_hold(struct replay *r, uint32_t location);
int location_release(struct replay *r, uint32_t location);
int location_thread_gone(struct replay *r, uint32_t location, uint64_t last_ns);        /* last_ns: of its last event */
uint64_t *location_last_ns(struct replay *r, struct process *process, uint32_t location);       /* of one whose thread is gone */

/* ---- ranks.c ---- */
struct job *job_of(struct replay *r, uint32_t group);                   /* by the name that is known so far; valid until the next call */
int ranks_finish(struct replay *r);                                     /* ranks, jobs and names of groups */

/* ---- texts.c ---- */
int text_record(struct replay *r, const struct iop_rec_text *rec);
uint64_t text_bound_ns(const struct iop_rec_text *end);  /* of an END record: the time of the oldest record that a bound refused, 0: none */

/* ---- notes.c ---- */
int note_gap_found(struct replay *r, const char *layer, uint32_t pid, uint64_t from_ns, uint64_t to_ns, const char *reason);
int note_missing_found(struct replay *r, const char *layer, const char *library, const char *function, const char *reason);
int notes_finish(struct replay *r);
void notes_free(struct replay *r);

/* ---- rows.c ---- */
int rows_read(struct replay *r, const char *name, const char *text);    /* one more table */

/* ---- shapes.c: sizes and names of variables, from what calls tell of them ---- */
int shape_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that worked */
/* Whether the count and the size of a datatype that it was given say nothing, and the variable's shape does. */
bool shape_decides(const struct replay *r, const struct frame *f, int64_t count, int64_t type_bytes);
/* Bytes that the operation moves; BYTES_UNKNOWN. */
uint64_t shape_bytes(const struct replay *r, const struct thread *thread, const struct frame *f);
bool shape_collective(const struct replay *r, const struct frame *f);          /* as nc_var_par_access has said */
uint32_t shape_variable(const struct replay *r, const struct frame *f);         /* as in model_event */
void shape_free(struct object *object);
void shapes_free(struct replay *r);
void shape_rank_from_below(struct replay *r, struct thread *thread, unsigned index, int rank);

/* ---- spaces.c: HDF5's dataspaces and types ---- */
int space_constants(struct replay *r, struct process *process, const struct iop_rec_constants *rec);
void space_forget(struct process *process, int64_t id);                         /* a handle that was closed */
int space_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that worked */
uint64_t space_elements(const struct replay *r, const struct thread *thread, const struct frame *f);    /* BYTES_UNKNOWN */
bool space_collective(const struct replay *r, const struct thread *thread, const struct frame *f);     /* as H5Pset_dxpl_mpio has said */
/* ---- sizes/types.c: bytes of an element in memory, of all elements in the file; BYTES_UNKNOWN ---- */
uint64_t space_type_bytes(const struct replay *r, const struct thread *thread, const struct frame *f, int64_t type);
uint64_t space_file_bytes(const struct replay *r, const struct thread *thread, const struct frame *f);
/* ---- sizes/known.c: objects of a file by name ---- */
int known_place(struct replay *r, struct frame *f, struct object *object, struct object *parent);       /* one that was made below another */
int known_opened(struct replay *r, struct thread *thread, const struct frame *f, const struct object *object);
void known_renamed(struct process *process, const struct object *object);       /* names lead to other objects in the file of this one */
void known_forget(struct object *file);
int known_iterated(struct replay *r, struct process *process, const struct frame *f);
int known_handed_over(struct process *process, struct object *object);         /* an id that nobody was seen to make */
void known_iterated_free(struct process *process);
int space_rank(const struct replay *r, const struct thread *thread, const struct frame *f);             /* of the dataset, -1 unknown */
void space_free(struct process *process);

/* ---- calls.c ---- */
int call_record(struct replay *r, struct thread *thread, const struct iop_rec_call *rec);
int call_device(struct replay *r, struct thread *thread, const struct iop_rec_device *rec);     /* of the innermost open call */
int call_loss(struct replay *r, struct thread *thread, uint64_t from_ns, uint64_t to_ns, uint32_t records);
int call_abandon_to(struct replay *r, struct thread *thread, unsigned keep, uint64_t time_ns);

/* ---- frame.c: the arguments of an open call ---- */
static inline const struct table_row *frame_row(const struct replay *r, const struct frame *f)
{
	return &r->set.rows[f->probe];
}
static inline const struct row_info *frame_info(const struct replay *r, const struct frame *f)
{
	return &r->rows[f->probe];
}
static inline const struct table_layer *frame_layer(const struct replay *r, const struct frame *f)
{
	return &r->set.layers[frame_row(r, f)->layer];
}
/* The value of the argument with this role; false if there is none or it could not be read. */
bool frame_arg(const struct replay *r, const struct frame *f, enum table_role role, int64_t *value);
struct str frame_string(const struct replay *r, const struct frame *f, enum table_role role);
/* The elements of an array argument that were recorded; p is NULL if the argument is missing, unreadable or no array. */
struct array frame_array(const struct replay *r, const struct frame *f, enum table_role role);
int64_t array_value(const struct array *array, size_t i);      /* i < n */
uint64_t array_product(const struct array *array, uint64_t n, uint64_t product);       /* of the first n; BYTES_UNKNOWN if one is missing */
uint64_t size_product(uint64_t a, uint64_t b);                 /* BYTES_UNKNOWN if one is, or if it is too large */

/* ---- outcome.c ---- */
void outcome_set(const struct replay *r, struct frame *f, const struct iop_rec_call *rec);
void outcome_hand_up(const struct replay *r, struct frame *outer, const struct frame *f);       /* f leaves */
int32_t outcome_error(const struct replay *r, const struct frame *f);   /* of a failed call: errno or the library's code, 0 unknown */

/* ---- ops.c: what a call does, at its entry and at its return ---- */
int op_enter(struct replay *r, struct thread *thread, unsigned index);
int op_leave(struct replay *r, struct thread *thread, unsigned index);

/* ---- op_events.c: events of operations on handles ---- */
int op_begin(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle, uint8_t mode);
int op_complete(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle);
int op_create_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle, uint8_t mode,
		    uint32_t creation, uint32_t status);
int op_destroy_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle);
int op_delete(struct replay *r, struct thread *thread, struct frame *f);
int op_delete_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t file);
bool op_non_blocking(const struct replay *r, const struct frame *f);    /* its operation may end after the call */
int op_seek(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle);
/* The absolute path of the call's PATH argument into f->path; empty if it could not be read or there is none. */
int op_path(struct replay *r, struct thread *thread, struct frame *f);

/* ---- async.c: libaio and io_uring ---- */
int async_record(struct replay *r, struct thread *thread, const struct iop_rec_async *rec);
int async_end_record(struct replay *r, struct thread *thread, const struct iop_rec_async_end *rec);     /* thread NULL: its submitter's */
void async_forget_submitted(struct replay *r, struct thread *thread);  /* io_submit is entered: what was left by one whose return was lost */
int async_submitted(struct replay *r, struct thread *thread, const struct frame *f);    /* io_submit returned, or was left */
int async_file(struct replay *r, struct process *process, const struct iop_rec_fd *rec);
int async_finish(struct replay *r);
void async_free(struct replay *r);
/* ---- requests.c: non-blocking operations that another call ends ---- */
/* The operation that began in this frame, known by a value from now on. */
int request_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value, uint64_t scope, const struct frame *f);
struct request *request_find(const struct process *process, uint32_t layer, uint64_t value, uint64_t scope);
/* What the frame's call says of it; the last two end it and free it. */
int request_test(struct replay *r, struct thread *thread, const struct frame *f, const struct request *request);
int request_cancelled(struct replay *r, struct thread *thread, const struct frame *f, struct request *request);
int request_complete(struct replay *r, struct thread *thread, const struct frame *f, struct request *request, uint64_t bytes,
		     bool failed);
int request_issued(struct replay *r, struct thread *thread, const struct frame *f);     /* by a call that makes a request */
int requests_record(struct replay *r, struct thread *thread, const struct iop_rec_requests *rec);
int requests_leave(struct replay *r, struct thread *thread, const struct frame *f);     /* a call that waits, tests, cancels, frees */
void requests_end(struct replay *r, struct process *process);                           /* what is left is open */

/* ---- aio.c: libraries that work on descriptors by requests ---- */
int aio_enter(struct replay *r, struct thread *thread, unsigned index);
int aio_leave(struct replay *r, struct thread *thread, unsigned index);

/* ---- fds.c ---- */
int fd_record(struct replay *r, struct process *process, struct fd_table *table, const struct iop_rec_fd *rec);
struct fd_slot *fd_slot(struct fd_table *table, int64_t fd);            /* NULL: never used */
struct incarnation *fd_push(struct fd_slot *slot, uint64_t time_ns);
struct incarnation *fd_find(struct replay *r, struct process *process, struct fd_table *table, int64_t fd, uint64_t time_ns);
struct incarnation *fd_open(struct fd_table *table, int64_t fd, uint64_t time_ns);     /* a new one */
struct incarnation *fd_undescribed(struct fd_table *table, int64_t fd, uint64_t time_ns);       /* used, so it was open */
uint32_t fd_paradigm(const struct replay *r, uint32_t file);            /* of a descriptor of this file */
bool fd_take_hint(struct fd_table *table, int64_t fd, struct description *out);
uint32_t fd_handle(struct replay *r, struct process *process, int64_t fd, struct incarnation *inc);     /* pre-created if it has none */
const char *fd_standard_name(int64_t fd);                               /* NULL for other than stdin, stdout, stderr */
/* ---- fd_epochs.c: calls on a descriptor that another thread closes or replaces meanwhile ---- */
struct fd_use { int64_t fd; struct incarnation *inc; uint32_t handle; };
/* The descriptor of an argument; inc is NULL if there is none. A call that worked proves that it was open, described or not. */
int fd_use(struct replay *r, struct thread *thread, const struct frame *f, enum table_role role, struct fd_use *use);
int fd_epoch_record(struct replay *r, struct thread *thread, const struct iop_rec_fd_epoch *rec);
/* A call ends this open file. Returns whether calls are running on it still: then it is destroyed after them. */
bool fd_epoch_end(struct thread *thread, const struct frame *f, int64_t fd, struct incarnation *inc);
/* The open file that a call has put in its place, if other calls use it already; else NULL. *overlapped: calls may have begun on it. */
struct incarnation *fd_epoch_made(struct thread *thread, const struct frame *f, int64_t fd, bool *overlapped);
void fd_epoch_begun(struct thread *thread, const struct frame *f, int64_t fd, struct incarnation *inc);        /* a new one */
int fd_epoch_leave(struct replay *r, struct thread *thread, const struct frame *f);    /* the call has returned */
int fd_inherit(struct fd_table *child, const struct fd_table *parent);  /* what is open there */
int fd_exec(struct replay *r, struct thread *thread, uint64_t time_ns);

/* ---- fd_tables.c: each has the users that hold it; the last one frees it ---- */
struct fd_table *fd_table_new(void);                                    /* NULL without memory, as the next but one */
struct fd_table *fd_table_hold(struct fd_table *table);
struct fd_table *fd_table_copy(const struct fd_table *from);
void fd_table_release(struct fd_table *table);                          /* NULL is fine */
int fd_table_set(struct fd_table **place, struct fd_table *table);      /* takes over table; releases what was there. table NULL: -ENOMEM */
int fd_table_unshare(struct thread *thread);                            /* from now on the thread has a copy */
int fd_table_found(struct replay *r, struct thread *thread, uint32_t number);   /* by a scan: as other threads of this number */
int fd_table_exec(struct replay *r, struct thread *thread);             /* the thread is the only one of its process now */

/* ---- fdops.c ---- */
int op_descriptor(struct replay *r, struct thread *thread, unsigned index);     /* what a call on a descriptor does, at its return */

/* ---- locks.c ---- */
int op_flock(struct replay *r, struct thread *thread, const struct frame *f);           /* flock(2) */
bool lock_command(int64_t cmd);                                                         /* of fcntl(2) */
int op_record_lock(struct replay *r, struct thread *thread, const struct frame *f);     /* fcntl(2) with such a command */
void locks_closed(struct process *process, uint32_t file);      /* any close of a file gives back the process' record locks on it */
void locks_free(struct process *process);

/* ---- handles.c ---- */
uint32_t handle_new(struct replay *r, const struct model_handle *def);
struct object *object_find(struct process *process, uint32_t layer, uint64_t value);
struct object *object_of_ref(struct process *process, uint32_t ref);    /* NULL if it has none of this handle */
struct object *object_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value);
void object_forget(struct process *process, struct object *object);
void object_release(struct object *object);
uint32_t object_handle(struct replay *r, struct process *process, struct object *object);
void object_on_descriptor(struct replay *r, struct process *process, int64_t fd, uint32_t file);        /* of a standard stream */
void handles_finish(struct replay *r);
int object_inherit(struct replay *r, struct process *child, const struct process *parent);
void object_free_all(struct process *process);
bool layer_parallel(const struct replay *r, const struct process *process, uint32_t layer);

/* ---- parents.c ---- */
uint32_t parent_of(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
uint32_t frame_handle(struct replay *r, struct thread *thread, unsigned index);         /* of the handle in the making */
int object_place(struct replay *r, struct thread *thread, unsigned index, struct object *object);       /* one that is new to us */
void frame_resolve(struct replay *r, struct thread *thread, unsigned index);            /* its file, if not known yet */
void file_was_made(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
void file_was_used(struct replay *r, struct thread *thread, unsigned index, uint32_t file);

/* ---- files.c ---- */
uint32_t file_described(struct replay *r, struct process *process, const struct iop_rec_fd *rec);
uint32_t file_of_inode(const struct replay *r, uint64_t dev, uint64_t ino);      /* as the kernel described it; REF_NONE */
uint32_t file_by_path(struct replay *r, struct process *process, const char *path);
int socket_record(struct replay *r, struct process *process, const struct iop_rec_socket *rec);        /* sockets.c */
int files_finish(struct replay *r);
void files_free(struct replay *r);
/* Puts the absolute form of path into *buf (grown as needed): relative to base, "." and ".." resolved by words alone. */
int path_absolute(char **buf, size_t *size, const char *base, const char *path, size_t len);
char *path_from_names(const char *names, size_t len, bool truncated);   /* malloc'ed; "b\0a\0" is /a/b */
const char *path_last(const char *path);

/* ---- mpi/mpich.c: its handles are 32-bit numbers ---- */
bool mpich_type_bytes(int64_t datatype, int64_t *bytes);        /* false: a derived type, which does not tell it */
uint64_t mpich_status_bytes(uint64_t word);                     /* the first 64 bits of a status */

/* ---- comms.c ---- */
int op_comm_enter(struct replay *r, struct thread *thread, unsigned index);
int op_comm_leave(struct replay *r, struct thread *thread, struct frame *f);
int comm_known(struct replay *r, struct process *process, uint64_t value, enum table_comm_kind kind);
bool comm_is_shared(const struct replay *r, uint32_t comm);              /* by several processes: not MPI_COMM_SELF */
uint32_t handle_unified(struct replay *r, struct process *process, const struct model_handle *def, const char *path);
int comms_finish(struct replay *r);
void comms_free(struct replay *r);
void comms_free_process(struct process *process);

/* ---- communities.c ---- */
/* from and *to are contexts. null: the call gave MPI_COMM_NULL */
int community_create(struct replay *r, struct thread *thread, const struct frame *f, uint32_t from, bool null, uint32_t *to);
uint32_t community_ref(struct replay *r, uint32_t context);             /* model comm, or COMMUNITY_WORLD */
int communities_finish(struct replay *r);
void communities_free(struct replay *r);
void communities_free_process(struct process *process);

/* ---- flags.c: to OTF2's enums ---- */
uint8_t flags_posix_mode(int64_t flags);
uint32_t flags_posix_creation(int64_t flags);
uint32_t flags_posix_status(int64_t flags);
void flags_stream(struct str mode, uint8_t *access, uint32_t *creation, uint32_t *status);
void flags_layer(const struct table_layer *layer, int64_t flags, bool create, uint8_t *access, uint32_t *creation,
		 uint32_t *status);
bool flags_others_write(const struct table_layer *layer, int64_t flags);        /* other processes may write the file meanwhile */
uint8_t flags_whence(const struct table_layer *layer, int64_t whence);

#endif
