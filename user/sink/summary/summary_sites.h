/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary's table by call site: time and bytes of the outermost calls from each place in the application.
 */
#ifndef IOPROBE_SINK_SUMMARY_SITES_H
#define IOPROBE_SINK_SUMMARY_SITES_H

#include <jansson.h>
#include <stdio.h>

#include "model/model.h"

struct summary_sites;

/* Handles one event of the replay. *sites is created with the first event if call sites were recorded; NULL: nothing is counted.
 * Returns 0 or -ENOMEM. */
int summary_sites_event(struct summary_sites **sites, const struct model *model, const struct model_event *event);
void summary_sites_destroy(struct summary_sites *sites);        /* NULL is allowed */

/* Writes nothing if sites is NULL. */
void summary_sites_text(FILE *out, struct summary_sites *sites, const struct model *model);
/* Returns the value of "call_sites"; JSON null if sites is NULL; NULL without memory. */
json_t *summary_sites_json(struct summary_sites *sites, const struct model *model);

#endif
