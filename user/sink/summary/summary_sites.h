/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary's table by call site: what the outermost calls from each place in the application cost and moved.
 */
#ifndef IOPROBE_SINK_SUMMARY_SITES_H
#define IOPROBE_SINK_SUMMARY_SITES_H

#include <jansson.h>
#include <stdio.h>

#include "model/model.h"

struct summary_sites;

/* One event of the replay. *sites is made with the first one where call sites were recorded; NULL: nothing is counted. Returns 0 or
 * -ENOMEM. */
int summary_sites_event(struct summary_sites **sites, const struct model *model, const struct model_event *event);
void summary_sites_destroy(struct summary_sites *sites);        /* NULL is fine */

/* Nothing if sites is NULL. */
void summary_sites_text(FILE *out, struct summary_sites *sites, const struct model *model);
/* The value of "call_sites"; JSON's null if sites is NULL; NULL without memory. */
json_t *summary_sites_json(struct summary_sites *sites, const struct model *model);

#endif
