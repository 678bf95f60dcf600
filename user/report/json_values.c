/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Values of the JSON report.
 */
#include "report/json_values.h"

#include <stdlib.h>

#include "util/utf8.h"

/* jansson rejects invalid UTF-8. */
json_t *json_text(const char *from)
{
	char *printable = from ? utf8_printable(from) : NULL;
	json_t *value = printable ? json_string(printable) : json_null();

	free(printable);
	return value;
}

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
