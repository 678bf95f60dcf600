/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of a file in the summary.
 */
#ifndef IOPROBE_SUMMARY_FACTS_H
#define IOPROBE_SUMMARY_FACTS_H

#include <jansson.h>

#include "model/model.h"

/* The facts of a file (REF_NONE: none) as an array; NULL without memory. */
json_t *summary_facts_json(const struct model *model, uint32_t file);
/* Adds the layout of a file on Lustre to its object. Returns 0, or not 0 without memory. */
int summary_put_stripes(json_t *o, const struct model_stripes *s);

#endif
