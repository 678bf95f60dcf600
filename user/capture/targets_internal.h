/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What targets.c (processes), target_scan.c (their libraries) and target_gaps.c (spans that were not observed) share.
 */
#ifndef IOPROBE_TARGETS_INTERNAL_H
#define IOPROBE_TARGETS_INTERNAL_H

#include "capture/targets.h"

#include "capture/gaps.h"
#include "capture/mappings.h"
#include "capture/mount_watches.h"
#include "capture/process_links.h"

struct target {
	pid_t pid;
	uint64_t start_ticks;           /* distinguishes it from a later process with the same pid, 0: unknown */
	struct process_links links;     /* libraries that were processed: probes placed, or none needed */
	struct mappings mappings;       /* recorded mappings of its program */
	struct proc_modules modules;    /* of its program, when they were last read */
	bool mpi;
	bool gone;                      /* it had ended when it was last looked up in /proc */
	bool new_program;               /* events of the old program are ignored */
	struct gaps unsettled;          /* until it is known whether the process was held */
	uint64_t unsettled_ns;          /* since when there are any */
	uint64_t mapped_ns;             /* when code was mapped that was not yet inspected, 0: none */
	uint64_t scanned_ns;            /* what was mapped before has been inspected */
	bool ran;                       /* it was released since it executed its program, or not held */
	uint64_t postponed_ns;          /* since when it runs without probes on streams, 0: it does not */
	uint64_t direct_ns;             /* since when probes for its own calls of a layer are there, or not needed; 0: not yet */
	uint64_t late_since_ns;         /* since when the noted gap before that, 0: there is none */
	uint64_t program_ns;            /* when it was forked or executed its program, 0: unknown. Holds from before are others' */
	UT_hash_handle hh;
};

/* A process whose end was read before its beginning, which was in another ring. */
struct early_end { pid_t pid; uint64_t time_ns; UT_hash_handle hh; };
#define EARLY_END_NS 10000000000ull

/* A process that maps code is usually held within this time, before the code runs; its mappings are then inspected. */
#define HELD_SOON_NS 50000000ull
/* No hold lasts longer: a process that was not held by then has run. */
#define HOLD_OVER_NS 3000000000ull

/* How often first threads, and targets without an exit record are looked up in /proc: about 20 µs each. */
#define CHECK_ENDS_NS 1000000000ull

/* With lazy streams: how long a process must live before its C library is probed. */
#define POSTPONED_NS 10000000ull

struct targets {
	struct target *all;             /* uthash by pid */
	struct libraries libraries;
	struct bpf_side *kernel;
	const struct table_set *set;
	const struct filter *filter;
	struct spool_writer *spool;
	struct early_end *early_ends;
	struct mount_watch *mounts;
	struct hold_server *server;
	bool hold;                      /* new programs are held until their probes are placed */
	bool lazy_streams;              /* short-lived processes do without probes on streams */
	bool rendezvous;                /* linkers are probed: to hold programs there, or to learn of mapped code */
	struct link_sharing sharing;
	size_t processes, no_memory;
	uint64_t ends_checked_ns, threads_checked_ns;
};

#define ANY_LAYER "libraries"    /* for a process that could not be inspected */
#define UNPROBED_LIBRARY "a library was used before its probes were in place"

/* ---- target_gaps.c ---- */

/* It is not known of which layers the code was that a process has run since. */
void target_add_unread_gap(struct targets *targets, struct target *target, uint64_t since_ns, const char *reason);
/* Adds a gap for each layer that the library provides. */
void target_add_gaps(struct targets *targets, struct gaps *gaps, pid_t pid, const struct library *library, struct gap gap);
/* The time without probes on streams is over: they have been placed, or the program has ended. */
void target_end_postponed(struct targets *targets, struct target *target, bool placed, uint64_t to_ns);
/* Notes the gap from since_ns, if that is not 0, until the library's probes were in place; probes for all were in place before. */
void target_note_gaps(struct targets *targets, struct target *target, const struct library *library, uint64_t since_ns,
		      const char *reason);
/* Probes for the process' own calls of a layer are not withheld any more: they are in place, or it has ended. Writes the gap since
 * the process waited for them in vain, or since since_ns, if that is not 0 and earlier. */
void target_end_withholding(struct targets *targets, struct target *target, uint64_t since_ns, uint64_t to_ns);
void target_write_direct_gap(struct targets *targets, struct target *target, uint64_t since_ns, uint64_t to_ns);
/* ran_ns: since when the process has run code that was not inspected, UINT64_MAX: it has not. */
void target_settle_gaps(struct targets *targets, struct target *target, uint64_t ran_ns);

/* ---- target_scan.c ---- */

/* Asks for the probes of a file that the process is going to map: they are placed before that. */
void target_attach_before_mapped(struct target *target, struct library *library);
/* Called before anything more is attached for this process. */
void target_follow_switching(struct targets *targets, struct target *target, enum stack_switching switching,
			     const struct proc_modules *modules);
/* Reads what the process maps. parent: the process that has just forked it, or NULL. Returns 0 or -errno. The result is the
 * target's, until the next call. */
int target_read_modules(struct target *target, const struct target *parent);
/* Places the probes of what the process maps now; what that is, is noted by the next scan. Returns 0 or -errno. */
int target_place_probes(struct targets *targets, struct target *target);
/* since_ns: time from which the process may have run without its probes, 0: it has not. held: this will be known when it is
 * released. parent: as in target_read_modules. demanded: if not NULL, it is held now: probes on demand are placed, too; their
 * number. */
int target_scan_for(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason,
		    const struct target *parent, size_t *demanded);
int target_scan(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason);
/* The same; if the process has ended before it could be inspected, all that it has run since is a gap. */
void target_scan_or_gap(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason);

#endif
