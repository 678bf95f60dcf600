/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The overhead limit: estimates what the probes cost each process from its records and the measured cost of a hit, and keeps it
 * below a share of the process' time by detaching the probes on streams, byte-wise calls first, until the load is over.
 */
#ifndef IOPROBE_CEILING_H
#define IOPROBE_CEILING_H

#include "capture/calibrate.h"
#include "capture/targets.h"

struct ceiling;

/* percent: of a process' time. Returns 0 or -errno. */
int ceiling_create(struct ceiling **out, double percent, const struct table_set *set, struct targets *targets,
		   const struct probe_cost *cost, struct spool_writer *spool);
/* NULL is allowed. */
/* Records the groups that are still detached; hits are not counted after this call. */
void ceiling_finish(struct ceiling *ceiling);
size_t ceiling_no_memory(const struct ceiling *ceiling);        /* records of processes that have no bucket for want of memory */
void ceiling_destroy(struct ceiling *ceiling);

/* To be called for each record of a call. */
void ceiling_count(struct ceiling *ceiling, const struct iop_rec *rec);
/* To be called periodically: detaches and re-attaches groups. */
void ceiling_step(struct ceiling *ceiling, uint64_t now_ns);

#endif
