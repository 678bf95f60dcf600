/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The sums of a recording so far, in Prometheus' text format. Labels have few values: node, job, layer, direction, mount point;
 * never a file, process or rank.
 */
#ifndef IOPROBE_STREAM_METRICS_H
#define IOPROBE_STREAM_METRICS_H

#include "stream/live.h"

struct metrics;

/* output: its live_output, which belongs to it. Returns 0 or -ENOMEM. */
int metrics_create(struct metrics **metrics, struct live_output **output);
void metrics_destroy(struct metrics *metrics);

/* What a scrape gets, as of the last interval; to be freed. May be called by any thread. NULL: no memory. */
char *metrics_text(struct metrics *metrics);

#endif
