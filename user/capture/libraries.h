/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files with functions to probe, one per inode: planned once, attached for each process that maps them, or for everybody.
 */
#ifndef IOPROBE_LIBRARIES_H
#define IOPROBE_LIBRARIES_H


#include "bpf/attach.h"
#include "elf/code_file.h"
#include "bpf/links.h"
#include "elf/plan.h"
#include "proc/procfs.h"
#include "parse/parse.h"
#include "spool/spool.h"
#include "util/hash.h"

/* Points that are attached and detached together. */
enum point_group {
	POINTS_OWN,
	POINTS_STREAM_DATA,             /* the cost ceiling may turn them off */
	POINTS_STREAM_BYTES,            /* the same, first: calls that move one byte each */
	POINTS_UNWIND,
	POINTS_DEMAND,                  /* on demand */
	POINTS_LINKER,                  /* a dynamic linker's rendezvous */
	POINT_GROUPS,
};

struct library {
	struct { uint64_t dev, ino; } key;
	char *path;
	struct plan plan;
	unsigned number;                /* of the cookie, 0: it can have no links for everybody */
	size_t owners;                  /* processes that have links of their own to it */
	uint64_t for_all_ns;            /* since when links for everybody count, 0: processes have their own */
	bool rendezvous_done;           /* attached for everybody */
	unsigned second_noted;          /* bits: groups of which points without a second place were noted */
	struct links shared, shared_unwinders;
	struct links demand;            /* of processes without links of their own, while there are any that want them: */
	size_t demand_users;
	struct code_file file;          /* stays reachable when the process that showed it is gone, or its name is another's */
	struct { struct attach_point *v; size_t n; } points[POINT_GROUPS];
	UT_hash_handle hh;
};

struct libraries {
	struct library *all;            /* uthash by key */
	const struct table_set *set;
	struct parse_pool *parsers;
	struct kernel_side *kernel;     /* before anything is attached; planning does without */
	struct spool_writer *spool;
	struct hold_server *server;
	bool entries_only;              /* no return probes are attached any more */
	unsigned numbers;               /* that were given to libraries */
	size_t probes, missing, single_stepped;
	bool row_single_stepped[IOP_MAX_PROBES];        /* somewhere */
};

void libraries_init(struct libraries *libraries, const struct table_set *set, struct parse_pool *parsers,
		    struct spool_writer *spool);
void libraries_detach_calls(struct libraries *libraries); /* what is attached for everybody, but unwinders */
void libraries_detach(struct libraries *libraries);       /* those too */
void libraries_deinit(struct libraries *libraries);

/* The library of a mapped file, planned if it is new; it has no points if it cannot be read (noted). NULL without memory, or if the
 * file is not mapped any more (noted, too). */
struct library *libraries_get(struct libraries *libraries, const struct proc_module *module);
/* The same for an opened file, which it takes over; path is for messages and patterns. */
struct library *libraries_get_file(struct libraries *libraries, const char *path, struct code_file *file);

/* What any of these files does with stacks. */
enum stack_switching libraries_switching(struct libraries *libraries, const struct proc_modules *modules);

/* Attaches one group of what belongs to one process; the links are the caller's. 0, or -errno (-ESRCH: it is gone). */
int library_attach_own(struct libraries *libraries, struct library *library, enum point_group group, pid_t pid,
		       bool switches_stacks, struct links *links);
/* Waits until the process' code is the file's where points of this group were attached, 200 ms at most. */
void library_await_original_code(const struct library *library, enum point_group group, pid_t pid, const struct proc_module *module);
/* Attaches those groups for everybody instead. */
void library_attach_for_all(struct libraries *libraries, struct library *library);
/* The group that is placed on demand, for everybody: a user more, or one less. */
/* Replaces what is attached for everybody by probes of entries only; from now on all are. */
void libraries_stop_returns(struct libraries *libraries);
void library_demand_for_all(struct libraries *libraries, struct library *library, bool on);
/* The rendezvous of a linker, for one process; with perf events for everybody, once. */
int library_attach_rendezvous(struct libraries *libraries, struct library *library, pid_t pid, struct links *links);

#endif
