/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recorded processes and the libraries that they map: the plan of each file, the attached links, and what has been written to
 * the spool about them.
 */
#ifndef IOPROBE_TARGETS_H
#define IOPROBE_TARGETS_H

#include "bpf/bpf_side.h"
#include "capture/libraries.h"
#include "bpf/links.h"
#include "spool/spool.h"

struct targets;

int targets_create(struct targets **out, const struct table_set *set, const struct filter *filter, struct parse_pool *parsers,
		   struct spool_writer *spool, bool streams_apart);
/* Plans the libraries that a running process maps, and counts it among their users: with many, a library gets one link for all at
 * once. Needs no BPF programs, so it may run while the programs are verified. */
void targets_plan(struct targets *targets, pid_t pid);
/* To be called once the BPF side is available; all functions below need it. shared_links: links for all may be used for
 * libraries that many of the processes share. lazy_streams: new processes that have nothing but the C library's streams to probe
 * are probed when they have lived 10 ms; until then they have a gap. */
void targets_begin(struct targets *targets, struct bpf_side *kernel, struct hold_server *server, bool shared_links,
		   bool lazy_streams);
/* The recording ends at this time: notes what running processes did without their probes until then. */
void targets_finish(struct targets *targets, uint64_t time_ns);
void targets_detach_calls(struct targets *targets);     /* all except unwinders, which are detached last; NULL is allowed */
void targets_destroy(struct targets *targets);          /* detaches everything; NULL is allowed */

/* Includes a running process: its threads and descriptors are recorded, its probes placed. Returns 0, also for one that is already
 * recorded, or -ESRCH if it has ended. */
int targets_attach(struct targets *targets, pid_t pid);

/* Events from the BPF programs. since_ns: time from which the process ran without its probes, unless it is held later. off: groups
 * (1 << enum point_group) that are not placed before targets_switch() asks for them. */
void targets_forked(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns, unsigned off);
/* The same for a process that ended or executed another program at until_ns, before it could be inspected. */
void targets_forked_briefly(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns, uint64_t until_ns);
void targets_execed(struct targets *targets, pid_t pid, pid_t old_tid, uint64_t since_ns, unsigned off);
/* Returns whether the process of an event at this time is known to have ended since. */
bool targets_has_ended(struct targets *targets, pid_t pid, uint64_t since_ns);
void targets_mapped(struct targets *targets, pid_t pid, uint64_t since_ns);
/* The process waits at the beginning of its own calls of a layer, whose probes were withheld. */
void targets_place_withheld(struct targets *targets, pid_t pid);
/* The process, which had waited since since_ns, continued before these probes were in place: writes a gap, also if the call that
 * waited never returns (longjmp, coroutines). Ignored if the wait was of another program or process with this pid. */
void targets_waited_in_vain(struct targets *targets, pid_t pid, uint64_t since_ns, uint64_t gave_up_ns);
void targets_not_held(struct targets *targets, pid_t pid, uint64_t since_ns);   /* and will not be held */
/* The process has been waiting since then: places its probes, with those on demand. Returns the number of the latter. */
size_t targets_held(struct targets *targets, pid_t pid, uint64_t since_ns);
/* The process, which had waited since since_ns, continues; gave_up_ns: when it stopped waiting, 0: it was released. Ignored in the
 * same cases. */
void targets_released(struct targets *targets, pid_t pid, uint64_t since_ns, uint64_t gave_up_ns);
void targets_ended(struct targets *targets, pid_t pid, uint64_t time_ns);
/* Targets whose exit record was lost. To be called after a round, until it returns 0; it then looks up the targets in /proc, at
 * most once a second. Returns those that had ended and had no exit record in the following round either. */
pid_t targets_next_unreported_end(struct targets *targets, uint64_t now_ns);

/* From now on new programs are held until their probes are placed. */
void targets_hold(struct targets *targets);
/* If holding needs a probe in the dynamic linker: places it for a process that is about to run this one. Returns false if that
 * fails. */
bool targets_prepare_linker(struct targets *targets, pid_t pid, const char *path);
/* Probes an executable that the launched process is about to run before its first instruction (static executables). */
void targets_prepare_executable(struct targets *targets, pid_t pid, const char *path);

/* Detaches or re-attaches a group of a process' own probes. */
void targets_switch(struct targets *targets, pid_t pid, enum point_group group, bool on);
/* Places or removes the probes on demand in a process. Returns their number. */
size_t targets_demand(struct targets *targets, pid_t pid, bool on);
/* Returns whether the probe of this row had to be placed on an instruction that the kernel single-steps, in some library. */
bool targets_row_single_stepped(const struct targets *targets, uint16_t row);

size_t targets_running(const struct targets *targets);
/* no_memory: processes, early ends and mount namespaces that could not be tracked. */
struct targets_counts { size_t processes, libraries, probes, missing, single_stepped, no_memory; };
struct targets_counts targets_count(const struct targets *targets);
/* To be called periodically: records changed mount tables, closes links that were replaced. */
void targets_step(struct targets *targets);

#endif
