/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Times at which this node's ranks met in collective opens and closes, as collectives.json: merge uses them to find out how exactly
 * the clocks of a job's nodes agree, without reading events.
 */
#ifndef IOPROBE_SINK_COLLECTIVES_H
#define IOPROBE_SINK_COLLECTIVES_H

#include <stdio.h>

#include "model/model.h"

/* Writes to out (not owned) when the replay is done: an array "collectives" of { "handle": ref, "opened": M, "closed": M }, where M
 * is { "ranks": number of participants, "last_enter_ns": when the last one entered the call, "first_leave_ns": when the first one
 * left it }. Returns 0 or -ENOMEM. */
int collectives_sink_create(struct sink **sink, FILE *out);
void collectives_sink_destroy(struct sink *sink);       /* NULL is allowed */

#endif
