/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The cost ceiling: what the probes cost each process, estimated from its records and the measured cost of a hit, and kept below a
 * share of its time by turning off the probes on streams, byte-wise calls first, until the storm is over.
 */
#ifndef IOPROBE_CEILING_H
#define IOPROBE_CEILING_H

#include "capture/calibrate.h"
#include "capture/targets.h"

struct ceiling;

/* percent of a process' time. Returns 0 or -errno. */
int ceiling_create(struct ceiling **out, double percent, const struct table_set *set, struct targets *targets,
		   const struct probe_cost *cost, struct spool_writer *spool);
/* Notes what is still off. NULL is fine. */
/* Reports the groups that are turned off still; nothing is counted from here on. */
void ceiling_finish(struct ceiling *ceiling);
size_t ceiling_no_memory(const struct ceiling *ceiling);        /* records of processes without an account for want of memory */
void ceiling_destroy(struct ceiling *ceiling);

/* For each record of a call. */
void ceiling_count(struct ceiling *ceiling, const struct iop_rec *rec);
/* Now and then: turns off and on. */
void ceiling_step(struct ceiling *ceiling, uint64_t now_ns);

#endif
