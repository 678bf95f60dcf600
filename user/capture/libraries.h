/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files with functions to probe, one per inode: planned once, attached for each process that maps them, or for all processes.
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
	POINTS_OWN,                     /* and all streams, if there is no overhead limit: links of few probes each are dearer */
	POINTS_STREAM_DATA,             /* may be detached by the overhead limit */
	POINTS_STREAM_BYTES,            /* the same, detached first: calls that move one byte each */
	POINTS_UNWIND,
	POINTS_DEMAND,                  /* placed on demand */
	POINTS_DIRECT,                  /* needed only by the process' own calls of the layer: withheld until it makes some */
	POINTS_LINKER,                  /* the dynamic linker's rendezvous with debuggers */
	POINT_GROUPS,
};

struct libraries;

struct library {
	struct { uint64_t dev, ino; } key;
	struct libraries *libraries;
	char *path;
	struct plan plan;
	unsigned number;                /* for the cookie, 0: links for all are not possible */
	size_t owners;                  /* processes that have their own links to it */
	size_t planned;                 /* processes that had mapped it before the recording attached to them */
	uint64_t for_all_ns;            /* time since which the links for all are used, 0: processes have their own */
	bool rendezvous_done;           /* attached for all */
	bool forbidden_noted;
	bool has_streams;
	unsigned second_noted;          /* bits: groups with points without a second place that were already noted */
	struct links shared, shared_unwinders;
	struct links demand;            /* for processes without their own links, while some of them want the group: */
	size_t demand_users;
	struct links direct;            /* the same, for processes that make calls of their own: */
	uint64_t direct_ns;             /* time since which they are in place; 0: they are not */
	struct code_file file;          /* kept open: the process that mapped it may end, or another file may get its name */
	struct { struct attach_point *v; size_t n; } points[POINT_GROUPS];
	UT_hash_handle hh;
};

struct libraries {
	struct library *all;            /* uthash by key */
	const struct table_set *set;
	struct parse_pool *parsers;
	struct bpf_side *kernel;     /* NULL until libraries_begin; planning works without */
	struct spool_writer *spool;
	struct hold_server *server;
	struct attachments pending;     /* probes that are asked for; libraries_place places them */
	bool streams_apart;             /* they have groups of their own */
	bool entries_only;              /* no more return probes are attached */
	unsigned numbers;               /* numbers given to libraries */
	size_t probes, missing, single_stepped;
	bool row_single_stepped[IOP_MAX_PROBES];        /* in some library */
};

void libraries_init(struct libraries *libraries, const struct table_set *set, struct parse_pool *parsers,
		    struct spool_writer *spool, bool streams_apart);
void libraries_begin(struct libraries *libraries, struct bpf_side *kernel, struct hold_server *server);
void libraries_detach_calls(struct libraries *libraries); /* links for all, except unwinders */
void libraries_detach(struct libraries *libraries);       /* unwinders too */
void libraries_deinit(struct libraries *libraries);

/* Returns the library of a mapped file, planned if it is new; it has no points if it cannot be read (noted). NULL without memory,
 * or if the file is no longer mapped (noted, too). */
struct library *libraries_get(struct libraries *libraries, const struct proc_module *module);
/* The same for an opened file, of which it takes ownership; path is for messages and patterns. */
struct library *libraries_get_file(struct libraries *libraries, const char *path, struct code_file *file);

/* Returns since when a process has the library's probes without more being placed, because they are in all processes; 0: it does
 * not. withheld: it needs none for direct calls. */
uint64_t library_everywhere_ns(const struct library *library, bool withheld);

/* Returns how any of these files switches stacks. */
enum stack_switching libraries_switching(struct libraries *libraries, const struct proc_modules *modules);

/* ---- The functions below only ask for probes: libraries_place places them, in the order in which they were asked for. ---- */

/* One group for one process; the links belong to the caller and must stay where they are until libraries_place. */
void library_attach_own(struct libraries *libraries, struct library *library, enum point_group group, pid_t pid,
			bool switches_stacks, struct links *links);
/* All groups but those on demand and of direct calls, for all processes. */
void library_attach_for_all(struct libraries *libraries, struct library *library);
/* Places what is attached for all in one process: for a server with members (bpf/hold_server.h) only. again: see
 * attachments_add_member. */
void library_join(struct libraries *libraries, struct library *library, pid_t pid, bool again, struct links *links);
/* Notes, once, that its probes would be in all processes, which is not allowed. */
void library_note_forbidden(struct library *library);
/* One user more, or one less, of the on-demand group that is attached for all. */
void library_demand_for_all(struct libraries *libraries, struct library *library, bool on);
/* The group of direct calls, for all processes, if it is not there already. Places it at once, after what was asked for before. */
void library_direct_for_all(struct libraries *libraries, struct library *library);
/* Replaces the probes attached for all by entry probes; from now on no return probes are attached. */
void libraries_stop_returns(struct libraries *libraries);
/* The rendezvous of a linker for one process; with perf events it is defined for all, once. */
void library_attach_rendezvous(struct libraries *libraries, struct library *library, pid_t pid, struct links *links);

/* Places the probes that were asked for, with one request to the hold server. Returns 0 or -errno (-ESRCH: the process has
 * ended). */
int libraries_place(struct libraries *libraries);

/* Waits at most 200 ms until the process' code equals the file's at the points of this group. */
void library_await_original_code(const struct library *library, enum point_group group, pid_t pid,
				 const struct proc_module *module);

#endif
