/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The processes that are recorded and the libraries that they map: what was planned for each file, which links are in place, and
 * what the spool was told about it.
 */
#ifndef IOPROBE_TARGETS_H
#define IOPROBE_TARGETS_H

#include "bpf/kernel_side.h"
#include "capture/libraries.h"
#include "bpf/links.h"
#include "spool/spool.h"

struct targets;

int targets_create(struct targets **out, const struct table_set *set, const struct filter *filter, struct parse_pool *parsers,
		   struct spool_writer *spool);
/* Plans the libraries that a running process maps. Needs no kernel side, so it may be done while the programs are verified. */
void targets_plan(struct targets *targets, pid_t pid);
/* The kernel side is there: everything below may be called. shared_links: links for everybody may serve libraries that many of the
 * processes share. */
void targets_begin(struct targets *targets, struct kernel_side *kernel, struct hold_server *server, bool shared_links);
void targets_detach_calls(struct targets *targets);     /* all but unwinders, which are detached last; NULL is fine */
void targets_destroy(struct targets *targets);          /* detaches everything; NULL is fine */

/* A process that runs already: its threads are taken in, its descriptors and libraries recorded, its probes placed.
 * Returns 0, also for one that is recorded already, or -ESRCH if it is gone. */
int targets_attach(struct targets *targets, pid_t pid);

/* News from the kernel side. since_ns: from when on the process ran without its probes, unless it is held later. */
void targets_forked(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns);
/* The same of one that has ended or become another program until_ns, before anybody could look at it. */
void targets_forked_briefly(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns, uint64_t until_ns);
void targets_execed(struct targets *targets, pid_t pid, pid_t old_tid, uint64_t since_ns);
void targets_mapped(struct targets *targets, pid_t pid, uint64_t since_ns);
void targets_not_held(struct targets *targets, pid_t pid, uint64_t since_ns);   /* nor will it be */
/* It waits since then: places its probes. */
void targets_held(struct targets *targets, pid_t pid, uint64_t since_ns);
/* It goes on; gave_up_ns: it did so before that, 0: it has waited. */
void targets_released(struct targets *targets, pid_t pid, uint64_t gave_up_ns);
void targets_ended(struct targets *targets, pid_t pid, uint64_t time_ns);
/* Targets whose exit record was lost. Call it after a round, until it returns 0; then it looks for the targets in /proc, at most once
 * a second. It returns those that had ended by then and of which the following round had no exit record either. */
pid_t targets_next_unreported_end(struct targets *targets, uint64_t now_ns);

/* New programs are held until they are probed. */
void targets_hold(struct targets *targets);
/* Where that takes a probe in the dynamic linker: places it for a process that is about to run this one. False if it cannot. */
bool targets_prepare_linker(struct targets *targets, pid_t pid, const char *path);
/* An executable that the launched process is about to run: probes it before its first instruction (static executables). */
void targets_prepare_executable(struct targets *targets, pid_t pid, const char *path);

/* Turns a group of a process' own probes off, or on again. */
void targets_switch(struct targets *targets, pid_t pid, enum point_group group, bool on);
/* Places the probes on demand in a process, or takes them away. Returns how many there are. */
size_t targets_demand(struct targets *targets, pid_t pid, bool on);
/* Whether some library's probe of this row had to be put on an instruction that the kernel single-steps. */
bool targets_row_single_stepped(const struct targets *targets, uint16_t row);

size_t targets_running(const struct targets *targets);
/* no_memory: processes, early ends and mount namespaces that could not be kept track of. */
struct targets_counts { size_t processes, libraries, probes, missing, single_stepped, no_memory; };
struct targets_counts targets_count(const struct targets *targets);
/* Now and then: notes mount tables again if they changed, closes links that were replaced. */
void targets_step(struct targets *targets);

#endif
