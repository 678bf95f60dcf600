/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The overhead limit: estimates what the probes cost each process from its records and the measured cost of a hit, and keeps it
 * below a share of the process' time by detaching the probes on streams, byte-wise calls first, until the load is over.
 */
#ifndef IOPROBE_CEILING_H
#define IOPROBE_CEILING_H

#include "capture/calibrate.h"
#include "capture/targets.h"

struct overhead_limit;

/* percent: of a process' time. Returns 0 or -errno. */
int overhead_limit_create(struct overhead_limit **out, double percent, const struct table_set *set, struct targets *targets,
		   const struct probe_cost *cost, struct spool_writer *spool);
/* NULL is allowed. */
/* Records the groups that are still detached; hits are not counted after this call. */
void overhead_limit_finish(struct overhead_limit *overhead);
/* records of processes that have no bucket for want of memory */
size_t overhead_limit_no_memory(const struct overhead_limit *overhead);
void overhead_limit_destroy(struct overhead_limit *overhead);

/* A process was forked, or executes a program, at this time, and has no probes yet. Returns the groups (1 << enum point_group) that
 * it begins without, because the programs that have ended cost too much: they are attached when it has run for a while. */
unsigned overhead_limit_begin_program(struct overhead_limit *overhead, pid_t pid, uint64_t time_ns);

/* To be called for each record of a call. */
void overhead_limit_count(struct overhead_limit *overhead, const struct iop_rec *rec);
/* To be called periodically: detaches and re-attaches groups. */
void overhead_limit_step(struct overhead_limit *overhead, uint64_t now_ns);

#endif
