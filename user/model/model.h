/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The definitions of a trace as the replay finds them, and the events that it passes to the sinks. A sink receives events in time
 * order per location while definitions grow; when the replay is done the definitions are complete and may be written. Refs are
 * indexes into the arrays below: dense, 0..n-1.
 */
#ifndef IOPROBE_MODEL_H
#define IOPROBE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#define REF_NONE UINT32_MAX
#define BYTES_UNKNOWN UINT64_MAX
#define OFFSET_UNKNOWN UINT64_MAX

/* All strings are owned by the model and live as long as it. */

struct model_paradigm { const char *identification, *name, *version; bool parallel, os; };  /* version NULL if unknown */

/* Of a file on Lustre; 0 and NULL: unknown, or not the same in all parts of it (see capture/lov.h for the texts). */
struct model_stripes { uint64_t bytes, count; const char *devices, *pool, *components; };

enum model_scope { SCOPE_UNKNOWN, SCOPE_SHARED, SCOPE_NODE };
struct model_file {
	const char *path;
	bool directory;
	enum model_scope scope;
	const char *mount_point, *mount_source, *fs_type;       /* NULL if unknown */
	uint64_t block_bytes;           /* of the file system, 0 if unknown */
	struct model_stripes stripes;
	uint64_t dev, ino;              /* 0 if unknown; of the first inode that had this path */
	uint32_t inodes;                /* lower bound of the number of inodes that had it, 0 if unknown */
	bool mapped;                    /* mapped, with --mmap-faults; counts of page faults and of pages: */
	uint64_t read_faults, write_faults, pages_written_back;
	uint64_t writable_bytes;        /* of recorded shared, writable mappings, summed up: what is written there is in no call */
	bool special;                   /* a pipe, a socket or the like: not in a file system */
};

/* A process or rank: a location group. */
struct model_group {
	const char *name;               /* "MPI Rank 3", "cp (pid 4711)" */
	int64_t rank;                   /* -1: not an MPI rank */
	uint32_t tgid;
	bool used;                      /* has at least one location with events */
	uint32_t job;                   /* of a rank: 0, 1, …: number of the launch; ranks are unique within a launch only */
	const char *launch;             /* of a rank: the launcher's name of the launch, the same on all nodes; NULL if unknown */
	int64_t launch_size;            /* of a rank: number of ranks of the launch on all nodes, -1 if unknown */
};

struct model_location {
	const char *name;               /* "Master thread", "Thread 4712" */
	uint64_t id;                    /* unique over all nodes of the job */
	uint32_t group;
	uint32_t tid;
	bool used;                      /* has events, or represents a rank without events */
};

/* What a call is for. Locks by fcntl are metadata of the region; their events show what they are. */
enum model_class {
	MODEL_CLASS_READ,
	MODEL_CLASS_WRITE,
	MODEL_CLASS_METADATA, /* open, close, seek, stat, names, sizes, attributes */
	MODEL_CLASS_SYNC,
	MODEL_CLASS_LOCK,
	MODEL_CLASS_REQUEST, /* begins, tests, awaits or cancels operations that are not blocking; maps a file */
	MODEL_CLASS_OTHER, /* not I/O: communication of MPI */
	MODEL_CLASSES
};

struct model_region {
	const char *name;
	const char *paradigm;           /* layer name */
	bool metadata;                  /* FILE_IO_METADATA, else FILE_IO */
	bool io;                        /* false: plain region (MPI communication) */
	enum model_class class;
};

/* Modes and flags are in OTF2's encoding, so that sinks need no tables. */
struct model_handle {
	const char *name;               /* of the object, or of stdin/stdout/stderr; "" if none */
	uint32_t file;                  /* REF_NONE if unknown */
	uint32_t paradigm;
	uint32_t comm;                  /* REF_NONE */
	uint32_t parent;                /* REF_NONE; always a smaller ref */
	uint32_t group;                 /* the location group that used it first */
	bool precreated;
	uint8_t pre_mode;               /* OTF2_IoAccessMode */
	uint32_t pre_status_flags;      /* OTF2_IoStatusFlag */
};

/* A static fact of a file as a layer sees it, or of an object inside it, with the values that its handles had. */
#define MODEL_FACT_VALUES 4
struct model_fact {
	uint32_t file, paradigm;
	const char *object;             /* name inside the file; "": the file itself */
	const char *name;
	const char *values[MODEL_FACT_VALUES];
	unsigned nvalues;
	bool more;                      /* it had more different values */
};

/* Lifetime and properties of a process; same index as in groups. Times are CLOCK_MONOTONIC; strings are NULL if unknown. */
struct model_process {
	uint64_t begin_ns;              /* time of its fork or first exec, or when it was first observed */
	uint64_t end_ns;                /* 0: still running at the end, or its end was not recorded */
	bool was_running;               /* before the recording: begin_ns is when it was found */
	bool has_status, has_uid;
	int32_t status;                 /* as in wait(2) */
	uint32_t ppid, uid;
	bool has_probe_hits, hits_missing;      /* all of its threads have reported theirs; one has not: */
	uint64_t probe_hits;            /* entries and returns of probed functions, and of system calls */
	const char *executable, *command_line, *directory;      /* of its last program; directory: when that was looked at */
	const char *batch_job;
	/* 1 + the rank that the launcher assigned to it or its parent; 0: none, or the process does not use MPI */
	int64_t rank_claim;
	uint32_t excluded;              /* 1 + index of its newest entry in excluded_parts; 0: none */
};

/* A program that a process executed. */
struct model_program { uint32_t group; uint64_t begin_ns; const char *path; };

/* Lifetime of a location's thread; same index as in locations. was_running: its creation was not observed, begin_ns is when it was
 * found. end_ns 0: still running at the end, or its end was not recorded. */
struct model_lifetime { uint64_t begin_ns, end_ns; bool was_running; };

/* A code file that processes have mapped. */
struct model_code_file {
	const char *path;               /* in the mount namespace of its processes */
	const char *build_id;           /* hexadecimal digits; NULL if there is none or it could not be read */
	uint64_t dev, ino;
	bool deleted;
};

/* An executable mapping of a code file. Of a forked process only those that its parent did not have, or that were read again. */
struct model_mapping {
	uint32_t group, code_file;      /* index in code_files */
	uint64_t start, end, offset;    /* addresses, and the offset in the file at start */
	uint64_t since_ns, noted_ns;    /* created between these times; since_ns 0: before the recording or at an unknown time */
};

/* A line of a source file. */
struct model_code_line { const char *file; uint32_t line; };

/* A function in the chain of calls, at one place in it, called from its parent: a tree from the outermost function inwards. Unknown
 * members are NULL or REF_NONE. */
struct model_context {
	uint32_t parent;                /* always a smaller ref; REF_NONE: the outermost known function */
	const char *function;           /* as in the source */
	const char *module;             /* path of the file with its code */
	uint64_t offset;                /* of the place in that file if function or line is unknown; else 0 */
	uint32_t line;                  /* index in code_lines */
	bool application;               /* not in a library whose frames are skipped */
};

/* Call sites. callers: whether the chain is complete. */
enum model_callers { CALLERS_WHOLE, CALLERS_TRUNCATED, CALLERS_UNKNOWN }; /* …: cannot be determined; not yet known at that call */
struct model_site {
	uint32_t context;               /* of the call itself */
	uint32_t application;           /* the innermost frame of the application; REF_NONE: unknown */
	enum model_callers callers;
};

/* Calls that were recorded without a call site, by reason. */
struct model_site_counts {
	uint64_t full, unasked, unread, no_image, no_python, gone, no_file, unreadable;
};

/* Calls of a layer that a filter of the recording excluded. layer NULL: the filter itself; whole: the layer was not probed at
 * all. */
struct model_excluded {
	const char *filter, *layer;     /* filter: the option, as the user wrote it */
	bool whole;
	uint64_t calls, read_bytes, written_bytes;      /* if known */
	uint64_t unknown;               /* calls that moved an unknown amount of data */
	uint64_t time_ns;
};

/* A part of these calls, of one process: entry: index in excluded; next: 1 + index of the process' next part, 0: none. */
struct model_excluded_part {
	uint32_t entry, group, next;
	uint64_t calls, read_bytes, written_bytes, unknown, time_ns;
};

/* A span in which a layer of a process was not observed. */
struct model_gap { uint32_t tgid; const char *layer, *reason; uint64_t from_ns, to_ns; };

/* Members are refs of model_group (ranks), in rank order. world and self are at most one each. */
enum model_comm_kind { COMM_KIND_WORLD, COMM_KIND_SELF, COMM_KIND_OTHER };
struct model_comm { const char *name; enum model_comm_kind kind; uint32_t *members; size_t nmembers; };

/* What a recorded call of a layer costs, as measured when the recording began; inside_ns: of that, between the call's own times.
 * The parts add up to total_ns; MODEL_COST_UNKNOWN: not measured. entry_return_ns is what the other two leave. */
#define MODEL_COST_UNKNOWN UINT64_MAX
struct model_cost { const char *layer; uint64_t total_ns, inside_ns, entry_return_ns, record_ns, site_ns; };

/* How the node's clocks stood at one moment; known, …: what its kernel said of the wall clock's synchronisation. */
struct model_clock {
	bool read;
	uint64_t monotonic_ns, realtime_ns, width_ns;   /* realtime was read within width_ns around monotonic_ns */
	bool known, synchronized;
	uint64_t error_ns, max_error_ns;
};

/* The wall clock was set at a moment between since_ns and at.monotonic_ns (CLOCK_MONOTONIC), forward by step_ns. */
struct model_clock_step {
	uint64_t since_ns;
	struct model_clock at;                  /* the clocks afterwards */
	int64_t step_ns;
};

/* The end of the recording. The archiver must observe the limits (max-size, min-free) too: it ends the archive earlier if
 * necessary. */
struct model_end {
	uint64_t max_bytes, min_free_bytes;     /* limits of the recording: spool and archive together, free space; 0: none */
	const char *stopped_by, *reason; /* a keyword ("end", "signal", "duration", "max-size", …) and a line; NULL if unknown */
	uint64_t after_bound;                   /* records after a limit was reached: neither recorded nor lost */
	uint64_t cut;                           /* of these, records in the spool for which the archive had no room */
};

struct model_strings;           /* owner of all strings */

#define MODEL_ARRAY(type, name) struct { type *v; size_t n, cap; } name

struct model {
	MODEL_ARRAY(struct model_paradigm, paradigms);
	MODEL_ARRAY(struct model_group, groups);
	MODEL_ARRAY(struct model_location, locations);
	MODEL_ARRAY(struct model_process, processes);
	MODEL_ARRAY(struct model_lifetime, lifetimes);
	MODEL_ARRAY(struct model_program, programs);    /* in the order of their execs */
	MODEL_ARRAY(struct model_region, regions);      /* index = probe id of the table row */
	MODEL_ARRAY(struct model_file, files);
	MODEL_ARRAY(struct model_handle, handles);
	MODEL_ARRAY(struct model_fact, facts);          /* by file; complete when the replay has ended */
	MODEL_ARRAY(struct model_comm, comms);
	MODEL_ARRAY(struct model_excluded, excluded);
	MODEL_ARRAY(struct model_excluded_part, excluded_parts);        /* the rest is of processes that are not known */
	MODEL_ARRAY(struct model_gap, gaps);
	MODEL_ARRAY(struct model_code_file, code_files);
	MODEL_ARRAY(struct model_mapping, mappings);    /* in the order in which they were recorded */
	MODEL_ARRAY(struct model_context, contexts);
	MODEL_ARRAY(struct model_code_line, code_lines);
	MODEL_ARRAY(struct model_site, sites);
	unsigned call_sites;                            /* --call-sites: frames of the application, 0: not recorded */
	struct model_site_counts site_counts;
	/* that events refer to, each once: of netCDF's variables, paths of calls on names */
	MODEL_ARRAY(const char *, names);
	MODEL_ARRAY(const char *, shared_mounts);       /* mount points that whoever recorded declared to be shared by the nodes */
	MODEL_ARRAY(struct model_cost, costs);          /* empty: not measured */
	/* in addition, of a call with recorded calls inside; of one that the kernel single-steps */
	uint64_t nested_cost_ns, single_step_cost_ns;
	/* kernel: its release; version: of the ioprobe that recorded */
	const char *machine_name, *host_name, *kernel, *version;
	const char *batch_job;                          /* the batch system's name of the job, NULL if unknown or not one */
	uint32_t recording_tag;                         /* 31 bits that distinguish this recording from the others of its job */
	struct model_clock clock_start, clock_end;      /* at the begin and at the end of the recording */
	MODEL_ARRAY(struct model_clock_step, clock_steps);      /* in the order of time */
	const char *command_line;                       /* of the recording ioprobe, NULL if unknown */
	/* CLOCK_MONOTONIC, 0 if unknown; end: of a killed recording its last record */
	uint64_t recording_begin_ns, recording_end_ns;
	uint64_t clock_begin_ns, clock_end_ns; /* CLOCK_MONOTONIC: first and last time of recording, events and processes */
	uint64_t realtime_at_begin_ns;                  /* CLOCK_REALTIME at clock_begin_ns */
	struct model_totals {
		uint64_t calls, lost_records, late_records, abandoned, failed_calls;
		uint64_t returns_without_frame, frames_too_deep, unknown_sizes;
		uint64_t facts_unknown;         /* handles and files of which static facts should have been known */
		uint64_t facts_beyond;          /* static facts that were not kept: more than the bound, or of an unknown file */
		uint64_t names_unknown;         /* paths of calls on names that could not be read or kept */
		uint64_t system_calls, device_calls, device_bytes, device_wait_ns;      /* with --device: not served from memory */
	} totals;                       /* unknown_sizes: operations */
	size_t njobs;                   /* number of launches with ranks */
	const char **notes;             /* one line each: probes that could not be placed, gaps, places of losses */
	size_t nnotes;
	const char **digest;            /* the same for users: notes of one kind are summed up in one line */
	size_t ndigest;
	bool device;                    /* --device was given */
	bool cpu_time;                  /* --cpu-time was given */
	uint64_t buffer_alignment;      /* read, pread64, write and pwrite64 tell if their buffers are aligned so; 0: they do not */
	bool complete;                  /* the spool has an END record: without it totals.lost_records is a lower bound, and */
	bool losses_counted;            /* … was still exact within the last second before the recording broke off */
	struct model_end end;
	struct model_strings *strings;
	size_t string_bytes;            /* total size of all strings */
	size_t site_string_bytes;       /* of these, strings of call sites, which exist before the first event */
};

/* What a call was asked to do by name, as the program gave it: 1 + index in model.names, 0: none, or not known. Directories are
 * absolute, and are those that relative paths begin in. */
struct model_names { uint32_t path, directory, new_path, new_directory; };

/* With --cpu-time: times of an outermost call, and since the thread's previous one. If known, cpu_ns + sleep_ns + delay_ns +
 * undivided_ns is the call's time. */
struct model_cpu {
	bool known, before_known;
	uint64_t cpu_ns, sleep_ns;
	uint64_t delay_ns;              /* ready to run, waiting for a CPU */
	uint64_t undivided_ns;          /* asleep or waiting for a CPU: the kernel does not count run delay */
	uint64_t io_sleep_ns;           /* of sleep_ns, for I/O */
	uint64_t user_ns, system_ns;    /* of cpu_ns, by the clock tick: only sums of many calls are accurate */
	uint64_t sleeps;                /* number of times it went to sleep */
	uint64_t before_off_ns, before_delay_ns;        /* off the CPU since the previous call; of that, waiting for a CPU */
};

/* Everything a call says in its Enter … Leave, as the contract's table has it. Values of modes and flags are OTF2's enums. */
enum model_event_type {
	EV_ENTER, EV_LEAVE,
	EV_CREATE, EV_DESTROY, EV_DUPLICATE, EV_STATUS_FLAGS, EV_DELETE,
	EV_SEEK,
	EV_BEGIN, EV_ISSUED, EV_TEST, EV_COMPLETE, EV_CANCELLED,
	EV_LOCK, EV_UNLOCK, EV_TRYLOCK,
};

struct model_event {
	enum model_event_type type;
	uint32_t location;              /* index in model.locations */
	uint64_t time_ns;               /* not less than that of the location's previous event */
	union {
		struct {
			uint32_t region;
			uint32_t site;          /* ENTER of an outermost call: 1 + its index in sites; 0: unknown or none */
			int32_t error;          /* LEAVE: errno or the library's own code of a failed call, else 0 */
			bool abandoned;         /* LEAVE: the call was left without a return; time_ns is when that was detected */
			bool failed;            /* LEAVE */
			bool maps;              /* LEAVE: these bytes of the handle's file were mapped to memory */
			uint32_t mapped_handle;
			uint64_t mapped_bytes, mapped_offset;
			uint64_t device_bytes, wait_ns; /* LEAVE, with --device: read from block devices, slept for I/O */
			const struct model_cpu *cpu;    /* LEAVE of an outermost call, with --cpu-time; NULL: nothing is known */
			struct model_names names;       /* LEAVE of a call on names; an open that succeeded has a handle instead */
		} call;                                                         /* ENTER LEAVE */
		struct { uint32_t handle; uint8_t mode; uint32_t creation_flags, status_flags; } create;
		struct { uint32_t handle; } destroy;
		struct { uint32_t old_handle, new_handle, status_flags; } duplicate;
		struct { uint32_t handle, status_flags; } status;
		struct { uint32_t paradigm, file; } del;
		struct { uint32_t handle; int64_t request; uint8_t whence; uint64_t result; } seek;
		struct {
			uint32_t handle;
			uint8_t mode;
			uint32_t flags;
			uint64_t bytes, matching_id, offset;
			/* matching id of the request that this operation of a helper thread carries out, 0: none */
			uint64_t request;
			uint32_t variable;      /* 1 + its index, 0 none or unknown */
			bool unaligned;         /* its buffer begins at no multiple of buffer_alignment */
		} begin;
		struct { uint32_t handle; uint64_t matching_id; } op;           /* ISSUED TEST CANCELLED */
		struct {
			uint32_t handle;
			uint64_t bytes, matching_id;
			bool failed;            /* or the call was left */
			int32_t error;          /* errno of a failed asynchronous operation: for others it is in the LEAVE */
		} complete;
		struct {
			uint32_t handle;
			uint8_t kind;           /* OTF2_LockType */
			bool ranged;            /* on a part of the file: */
			uint64_t offset, bytes; /* bytes 0: to the end of the file, wherever that is later */
		} lock;                                                         /* LOCK UNLOCK TRYLOCK */
	} u;
};

/* A consumer of events. event and finish return 0 or a negative errno, which ends the replay. */
struct sink {
	int (*event)(struct sink *sink, const struct model *model, const struct model_event *event);
	int (*finish)(struct sink *sink, const struct model *model);    /* definitions are complete */
	/* NULL: no limit. Called before each record: returns the limit of the recording that leaves no room for more events
	 * ("max-size"), NULL if there is room. Otherwise the trace ends there. */
	const char *(*full)(const struct sink *sink, const struct model *model);
	/* No more events will come for this location. Returns 0 or a negative errno. May be NULL. */
	int (*location_end)(struct sink *sink, const struct model *model, uint32_t location);
	/* All events before this time have been reported, except those of late records (counted). Returns 0 or a negative errno.
	 * May be NULL. */
	int (*time)(struct sink *sink, const struct model *model, uint64_t complete_ns);
};

void model_deinit(struct model *model);

/* The values of a fact in one text, to be freed; NULL without memory. */
char *model_fact_text(const struct model_fact *fact);

/* The wall clock of the recording's host at a time of CLOCK_MONOTONIC, as far as its steps are known: in nanoseconds since 1970, or
 * the same time if the recording has no reading of the clocks. Between since_ns and at of a step it is the clock from before the
 * step. */
uint64_t model_realtime_ns(const struct model *model, uint64_t monotonic_ns);

#endif
