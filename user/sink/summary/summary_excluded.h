/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What filters excluded, in the summary.
 */
#ifndef IOPROBE_SUMMARY_EXCLUDED_H
#define IOPROBE_SUMMARY_EXCLUDED_H

#include <jansson.h>

#include "model/model.h"

/* Add the array "left_out" to an object: of all processes; of one, if filters excluded calls of it. Return 0, or not without
 * memory. */
int summary_put_excluded(json_t *object, const struct model *model);
int summary_put_process_excluded(json_t *object, const struct model *model, size_t group);

#endif
