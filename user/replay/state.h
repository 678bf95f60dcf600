/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a replay: processes with their descriptors and library handles, threads with their stacks of open calls. Private to
 * user/replay; the functions of each file have a header of their own. They return 0 or a negative errno; the first error ends the
 * replay.
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
#define MAX_INODES 64
#define MAX_ROLES (ROLE_LAST + 1)
#define MAX_LAYERS 64
#define LOSS_NOTES_MAX 200      /* at most so many losses are listed with their place */

/* ---- precomputed properties of a table row ---- */

struct row_info {
	int8_t arg[MAX_ROLES];          /* captured index, -1 */
	uint8_t nout, nstrings;
	uint8_t out[IOP_MAX_ARGS];      /* captured indexes of OUT arguments */
	uint8_t strings[IOP_MAX_ARGS];  /* of STRING and array arguments */
	uint8_t element[IOP_MAX_ARGS];  /* size of an element of an array argument, 0: not an array */
	bool makes;                     /* creates a handle (open, create) */
	bool uses;                      /* operates on its HANDLE argument */
	bool sized;                     /* the layer has dataspaces and types by id (spaces.c) */
	bool fd;                        /* the layer's handles are descriptors */
	bool on_fd;                     /* the layer has handles of its own on descriptors */
	bool facts;                     /* tells or carries static facts */
	uint32_t paradigm;              /* REF_NONE */
};

/* ---- descriptors ---- */

/* One open file behind a descriptor number (a file-descriptor generation), from the creating call to the end of the closing one. */
struct open_file {
	uint64_t created_ns, closed_ns; /* 0: before the recording; NEVER: open */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file;
	uint32_t status_flags;          /* OTF2 */
	uint8_t mode;                   /* OTF2 */
	uint32_t aio_ref;               /* its handle in POSIX asynchronous I/O, REF_NONE */
	uint32_t other_ref, other_group;        /* the handle of another process that shares the table, REF_NONE */
	bool has_epoch, reserved;       /* reserved: used before the call that creates it has returned */
	uint32_t epoch;                 /* of the descriptor (struct iop_rec_fd_epoch) */
	uint32_t running;               /* calls that were running on it when it was closed: its handle is destroyed after them */
};

/* Calls that returned before the change that has counted them as running. */
#define FD_EARLY 4
struct fd_early { uint32_t epoch, n; };

/* Contents of an FD record. */
struct description {
	uint64_t time_ns;
	uint32_t file, status_flags;
	uint8_t mode;
	bool valid;
};

/* Pseudo address of a standard stream, for functions without a stream argument (printf) too; no real stream has such an address. */
#define STANDARD_STREAM(n) (UINT64_MAX - 1 - (n))

#define INCARNATIONS 4                  /* generations that are kept, besides those with running calls */
struct fd_slot {
	struct open_file *v;          /* newest first */
	unsigned n, cap;
	struct description hint;        /* not yet applied */
	struct fd_early early[FD_EARLY];        /* n 0: unused */
};

/* Epochs of the thread's next call: calls on a descriptor that was closed or replaced during the call. */
#define FD_EPOCHS 3
struct fd_epochs { struct iop_rec_fd_epoch v[FD_EPOCHS]; unsigned n; };

struct fd_table {
	struct fd_slot **fds;
	size_t nfds;
	unsigned users;
	uint32_t number;                /* number of a table found by the scan, 0 */
};

/* ---- library handles ---- */

struct object_key { uint64_t value; uint32_t layer, pad; };
struct object {
	struct object_key key;
	unsigned holders;               /* references from the hash and from frames */
	unsigned references;            /* number of closes it needs beyond the first (H5Iinc_ref) */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file, comm, paradigm;
	uint32_t parent;                /* of a handle whose creation was not recorded, REF_NONE */
	bool root;                      /* a file whose opening was recorded, not an object inside one */
	const char *name;
	uint8_t mode;
	bool delete_on_close;
	bool closed;                    /* already closed by a call inside the closing one */
	struct variable *variables;     /* of a file: known properties of its variables and dimensions (shapes.c) */
	struct dimension *dimensions;
	struct object *in;              /* the file that contains it; NULL for a file, or unknown */
	char *inner;                    /* its name in the file; "" for a file, NULL unknown */
	struct sized *known;            /* of a file: known properties of its objects, by name (sizes/known.c) */
	bool others_write;              /* a file that other processes may change at the same time */
	bool collective;                /* of a netCDF file: operations on variables without a mode of their own are collective */
	bool facts_open;                /* its facts are unknown so far, and counted as such */
	uint64_t split_id;              /* operation of an unfinished split collective, 0 none */
	UT_hash_handle hh;
};

/* ---- held locks ---- */

enum lock_space { LOCK_OF_PROCESS, LOCK_OF_DESCRIPTION, LOCK_OF_FILE }; /* F_SETLK, F_OFD_SETLK, flock: see fcntl(2) */
struct held_lock {
	enum lock_space space;
	uint32_t file, handle;
	uint64_t first, last;           /* bytes */
	uint8_t kind;                   /* OTF2_LockType */
	struct held_lock *next;
};

/* ---- requests of non-blocking operations ---- */

/* scope: the range in which the value is unique. */
struct request_key { uint64_t value, scope; uint32_t layer, pad; };
struct request {
	struct request_key key;
	uint32_t handle;                /* model handle */
	uint64_t matching_id, asked;    /* bytes */
	uint8_t mode;                   /* OTF2 */
	bool cancel;                    /* the program has tried to cancel it */
	bool freed;                     /* the program has freed it: there will be no wait */
	UT_hash_handle hh;
};

/* The REQUESTS records of a thread's next call. */
struct request_states { uint64_t enter_ns; uint16_t probe; struct iop_request_state *v; size_t n; };

/* ---- processes and threads ---- */

struct library {
	bool seen, parallel, known_abi, narrow;         /* narrow: handles are 32-bit numbers, as MPICH's */
	const char *file, *version;                     /* the name of its file; NULL: unknown */
	uint64_t streams[TABLE_STREAMS];                /* addresses of the standard streams, 0 unknown */
};
/* context: counts the communicators created from it; CONTEXT_… or an index of derived_comms.c. */
struct comm_value { uint64_t value; uint32_t context; UT_hash_handle hh; };
enum { CONTEXT_WORLD = TABLE_COMM_WORLD, CONTEXT_SELF = TABLE_COMM_SELF, CONTEXT_NULL = TABLE_COMM_NULL, CONTEXT_OTHERS };
#define COMMUNITY_WORLD (REF_NONE - 1)
struct open_count { const char *key; unsigned n; UT_hash_handle hh; };

struct process {
	uint32_t tgid, group;
	bool dead;
	char *cwd;                      /* NULL unknown */
	struct fd_table *table;         /* the table of its threads, unless they have their own */
	struct object *objects;
	/* The object over whose contents HDF5 last started to iterate with a function of the program (H5Literate), if that is
	 * always the same one. */
	struct { struct object *file; char *inner; bool many_files, many_names; } iterated;
	bool from_start;                /* observed since its exec, without a gap */
	struct comm_value *comms;
	struct sized *sized, *passing;  /* HDF5's datasets, attributes, predefined types; and dataspaces, types: by id (spaces.c) */
	struct fact_list *fact_lists;   /* property lists and sets of hints (facts/lists.c); oldest first */
	bool fact_lists_dropped;        /* some were forgotten: an unknown one need not be untouched */
	struct comm_count *comm_counts;
	bool counts_comms;              /* every creation of a communicator was recorded so far */
	bool narrow_comms;              /* communicators are 32-bit numbers */
	bool knows_null;                /* the value of MPI_COMM_NULL is known */
	struct open_count *opens;       /* number of opens of unified handles, per paradigm and path */
	struct held_lock *locks;
	struct request *requests;
	struct helper_wait *helper_waits;       /* requests that helper threads carry out (async/helpers.c), … */
	struct helper_queue *helper_queues;     /* … and those not yet joined to a system call, by what they ask for */
	MODEL_ARRAY(uint32_t, mappings);        /* of its current program: indexes in model.mappings */
	struct library libraries[MAX_LAYERS];
	unsigned nthreads;              /* in the table of threads */
	bool replaced;                  /* another process had its number before */
	bool threaded;                  /* it has had several */
	uint32_t master_location;       /* REF_NONE */
	uint64_t master_last_ns;
	struct process *next;           /* list of all processes, including ended ones */
	UT_hash_handle hh;
};

/* Properties of a process that become known late, for the definitions at the end; index = group. parent: the group that forked it,
 * REF_NONE if unknown; job: the launcher's name of the launch, NULL if unknown. */
struct group_info { const char *comm, *mntns, *job; int64_t rank, size; uint32_t parent, ppid; bool mpi; };

/* number: as shown to readers, REF_NONE until ranks_finish. world: model comm. size: of the world according to the launcher, 0 if
 * unknown. */
struct job { const char *id; uint32_t world, number; uint64_t size; };

struct str { const char *p; size_t len; };      /* p NULL: unknown */
struct array { const char *p; size_t n; unsigned element; };    /* integers of 4 or 8 bytes; p NULL: unknown */

struct frame {
	uint16_t probe;
	bool complete;                  /* the outcome is known: from a CALL record, or the EXIT was read */
	bool failed, abandoned;
	bool unseen;            /* abandoned because its return was not observed: whether it failed is unknown */
	bool held;                      /* of a COLLECTIVE record: its CPU times belong to the time between calls */
	bool doubtful;                  /* records of the thread were lost since: the call may have ended */
	uint8_t unread;                 /* bits: arguments that could not be read */
	uint64_t enter_ns, leave_ns;
	int64_t ret;
	int32_t inner_error;            /* errno of the last system call inside that failed, 0 none */
	bool inner_at_end;              /* the last system call inside was a read that returned 0 */
	bool end_or_error;              /* ambiguous: the system call that would decide may have been filtered */
	bool at_end;                    /* the call reached the end of the file */
	/* bytes of the system calls inside that read the file of the call's handle; inner_other: there were others */
	bool inner_reads, inner_other;
	uint64_t inner_bytes;
	int64_t args[IOP_MAX_ARGS];
	struct str str[IOP_MAX_ARGS];
	char *text;                     /* storage of str[] between ENTER and EXIT */
	size_t text_size;
	char *path;                     /* absolute, resolved lexically; "" if none */
	/* the path may be that of a directory whose files are of the handle (NCZarr); there are some */
	bool tree, has_files;
	size_t path_size;

	/* the handle that the call creates */
	bool makes, resolved;           /* resolved: file is the one that the kernel reported, not looked up by name */
	uint32_t ref, file, comm;
	/* the handle that the call uses */
	struct object *object;
	uint32_t used;                  /* model handle */
	/* the operation that the call began */
	bool begun;
	uint8_t mode;                   /* OTF2 */
	uint64_t matching_id;
	uint64_t reserved_id;           /* matching id that its next operation gets, 0: a new one */
	uint64_t request;
	bool maps;                      /* maps a file; used is the file's handle */
	uint64_t device_bytes, wait_ns; /* with --device */
	uint32_t site;                  /* of an outermost call: model site, REF_NONE if unknown */
	struct fact_list *facts;        /* of the handle that the call makes, told by calls inside; NULL */
	uint8_t *header;                /* of the file that the call opens: its first bytes, as calls inside have read them; NULL */
	uint32_t header_len;
	uint64_t below_bytes;           /* asked by calls inside on the dataset that is its variable; 0: none, BYTES_UNKNOWN */
	const struct iop_submitted *listed;     /* the one of several operations of this call that is being written */
};

/* Identifies an operation of libaio or io_uring (async.c). */
struct async_key { uint64_t key, context; uint32_t tgid, interface; };

/* With --cpu-time (cpu_time.c). next: the CPU record of the call with its enter_ns. lost: records of the thread were lost since the
 * end of its last outermost call. before_…: of calls that are not written to the trace, and between them. */
struct cpu_times {
	struct iop_rec_cpu next;
	bool lost, before_unknown;
	uint64_t before_off_ns, before_delay_ns;
	uint64_t end_ns;                /* of that call */
};

/* Who made a thread; MAKER_UNKNOWN: it existed before it was observed. */
enum thread_maker { MAKER_UNKNOWN, MAKER_PROGRAM, MAKER_LIBRARY };

struct thread {
	uint32_t tid, location;
	enum thread_maker maker;
	/* its last system call for a request (async/helpers.c); again: the next one may repeat it */
	struct { uint64_t matching_id, bytes; int32_t fd; uint32_t mode; bool again; } helping;
	struct process *process;
	struct fd_table *table;
	struct fd_epochs epochs;
	uint32_t last_seq;
	uint64_t begin_ns;              /* when it was created or first observed */
	uint64_t last_ns;               /* of the location's last event */
	uint64_t last_rec_ns;
	bool disturbed;                 /* a loss or an abandoned frame explains a timestamp that is too old */
	struct frame *frames;
	unsigned nframes, cap;
	MODEL_ARRAY(struct async_key, submitted);       /* by the running io_submit */
	struct request_states states;
	struct cpu_times cpu;
	UT_hash_handle hh;
};

/* Reasons to keep a location open. */
struct location_use { uint64_t last_ns; uint32_t operations; bool thread_gone, ended; };

struct inode_use { uint64_t ino, last_ns; };    /* last_ns: of its last description under this path */

/* known: it was read */
struct inode_stripes { uint64_t dev, ino; bool known; struct model_stripes is; };

/* label: final name of a socket, NULL. kernel: reported by the kernel, not taken from a call's argument. next: another file with
 * the same path, REF_NONE. */
struct file_info {
	uint32_t group, mnt_id, next;
	uint32_t dev_major, dev_minor;  /* of the file system, at described_ns */
	uint64_t described_ns;
	bool scanned;                   /* from stat(2), which shows other numbers than mountinfo on some file systems */
	uint32_t mount;                 /* of described_mounts, at described_ns; REF_NONE: not known then */
	bool regular, kernel, socket;
	bool striped;                   /* on a file system whose layouts the agent reads */
	bool tree, has_files;           /* files below it are of its handles; there are some */
	const char *label;
	MODEL_ARRAY(struct inode_use, inodes);  /* that had this path, MAX_INODES at most */
};
struct event_name { const char *name; uint32_t number; UT_hash_handle hh; };      /* of model.names; number: 1 + its index */
struct path_entry { const char *path; uint32_t first; UT_hash_handle hh; };
struct mount_table { const char *ns; uint64_t time_ns; struct mounts mounts; };
/* by the kernel; source NULL: see the table */
struct described_mount { uint64_t time_ns, block_bytes; struct mount_row row; };
struct unified { const char *key; uint32_t *refs; unsigned n, cap; UT_hash_handle hh; };

/* Notes of one kind, summed up. */
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
	bool cut;                       /* a sink has reached its limit: the trace has ended */
	bool bound_reached;
	uint64_t bound_ns;              /* time of the oldest record that the recorder refused at a limit; 0: none */

	struct table_set set;
	struct row_info *rows;          /* of set.rows */
	uint32_t layer_paradigm[MAX_LAYERS], fd_paradigm, socket_paradigm;      /* REF_NONE */
	uint32_t abi_layer[MAX_LAYERS]; /* the layer whose library ABI defines the layer's arguments: itself or another one */
	struct process *processes, *all_processes;
	struct thread *threads, *cached_thread;
	struct { struct group_info *v; size_t n, cap; } infos;
	struct { struct file_info *v; size_t n, cap; } files;
	struct path_entry *paths;
	struct { struct mount_table *v; size_t n, cap; } mounts;
	MODEL_ARRAY(struct described_mount, described_mounts);
	MODEL_ARRAY(struct inode_stripes, stripes);     /* by inode, after file_stripes_finish */
	struct {
		const char *mount_point, *mount_source, *fs_type;
		enum model_scope scope;
		size_t nshared; /* of model.shared_mounts then */
	} last_mount; /* of the last file, in the model's strings */
	bool followed; /* a sink reports while the recording runs: mounts are needed before the end */
	struct unified *unified;
	MODEL_ARRAY(struct job, jobs);
	uint32_t self;                  /* model comm, REF_NONE */
	bool many_batch_jobs;
	uint64_t location_base;
	MODEL_ARRAY(struct location_use, location_uses);        /* index as in model.locations */
	uint64_t last_ns;               /* newest record */
	uint64_t matching_id;
	uint64_t overlapped;            /* calls on descriptors that were closed or replaced during the call */
	uint64_t gap_records, lost_records, late, orphans, backwards, unknown_locks, unknown_unlocks, undescribed;
	uint64_t unnamed_faults;        /* on mapped files without a name */
	uint32_t unnamed_mapped;
	bool counted;                   /* a STATUS or END record was present, with these values: */
	uint64_t written_records, counted_lost, dropped_records;
	uint64_t read_records;          /* BPF records in the spool */
	uint64_t requests_open, requests_left, requests_freed, requests_beyond, requests_refused;
	uint64_t requests_not_joined, helper_calls_not_joined;  /* async/helpers.c */
	struct async_op *async;
	/* regions for operations taken by the kernel's polling thread, and for their completion on handles; REF_NONE */
	uint32_t polled_row, ended_row;
	uint64_t async_unseen, async_unknown, async_nameless, async_other;
	size_t loss_notes;
	struct event_name *names;
	/* paths of calls on names: distinct ones; unknown ones, by reason */
	uint64_t path_bytes, names_unread, names_beyond;
	MODEL_ARRAY(struct gap_sum, gaps);
	MODEL_ARRAY(struct missing_sum, missing);
	struct gap_process *gap_processes;
	struct fact_entry *facts;       /* facts/facts.c */
	struct derived_comms *derived_comms;
	struct code_file_entry *code_files;
	uint64_t unknown_creations;     /* calls that created a communicator that could not be identified */
};

#endif
