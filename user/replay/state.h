/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a replay: processes with their descriptors and library handles, threads with their stacks of open calls.
 * Private to user/replay; each of its files has a header for its functions.
 * They return 0 or a negative errno; the first error ends the replay.
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
	bool freed;                     /* the program has freed it: no wait will follow */
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

#endif
