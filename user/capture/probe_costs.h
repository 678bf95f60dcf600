/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a recorded call costs on this host, measured when a recording has begun: a process of our own makes calls that are recorded
 * like those of a target, by rows of the recording's own tables, and the records are dropped. No target waits for it, and it has
 * the lowest priority.
 */
#ifndef IOPROBE_PROBE_COSTS_H
#define IOPROBE_PROBE_COSTS_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "bpf/filter.h"
#include "bpf/hold_server.h"
#include "bpf/bpf_side.h"
#include "spool/spool.h"

struct probe_costs;

/* Before anything of the recording is attached: a call that is not recorded. NULL without memory, or if a filter would exclude the
 * calls: then nothing is measured. All others accept NULL. */
struct probe_costs *probe_costs_create(const struct table_set *set, const struct filter *filter, bool call_sites);
void probe_costs_destroy(struct probe_costs *costs);

/* The recording has begun. What follows takes the recorder some milliseconds: it is put off until programs that were launched have
 * their probes. */
void probe_costs_begin(struct probe_costs *costs, struct bpf_side *kernel, struct hold_server *server);
/* Whether the record is one of the calls that were made to be measured: it belongs to no target. */
bool probe_costs_take(struct probe_costs *costs, const struct iop_rec *rec);
/* After each round; last: the recording is about to end. When all is measured it is noted. Returns whether there is nothing more to
 * wait for. */
bool probe_costs_step(struct probe_costs *costs, struct spool_writer *spool, bool last);
/* What was not measured until now will not be. */
void probe_costs_stop(struct probe_costs *costs);

#endif
