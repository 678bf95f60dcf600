/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Values of the JSON report.
 */
#include "report/json_values.h"

json_t *json_seconds(uint64_t ns)
{
	return json_real(ns / 1e9);
}

json_t *json_location(const struct analysis *a, uint32_t index)
{
	char name[128];

	if (index == TRACE_NONE)
		return json_null();
	location_name(a, index, name, sizeof(name));
	return json_text(name);
}
