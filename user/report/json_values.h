/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Values of the JSON report.
 */
#ifndef IOPROBE_REPORT_JSON_VALUES_H
#define IOPROBE_REPORT_JSON_VALUES_H

#include <jansson.h>

#include "analysis/analysis.h"
#include "util/json_text.h"

json_t *json_seconds(uint64_t ns);
json_t *json_location(const struct analysis *a, uint32_t location); /* its name; null for TRACE_NONE */

#endif
