/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parses and formats a number with a unit, from one table for each kind.
 */
#include "util/quantity.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct unit { const char *name; double factor; };

static bool parse_quantity(const char *text, const struct unit *units, size_t n, uint64_t *out)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(units[i].name, end))
			continue;
		if (value * units[i].factor > 9e18)
			return false;
		*out = value * units[i].factor;
		return true;
	}
	return false;
}

bool quantity_bytes(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{ "", 1 }, { "b", 1 }, { "k", 1024 }, { "kib", 1024 }, { "m", 1 << 20 }, { "mib", 1 << 20 }, { "g", 1 << 30 },
		{ "gib", 1 << 30 }, { "t", 1ull << 40 }, { "tib", 1ull << 40 },
	};

	return parse_quantity(text, units, sizeof(units) / sizeof(units[0]), out);
}

bool quantity_ns(const char *text, uint64_t *out)
{
	static const struct unit units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	return parse_quantity(text, units, sizeof(units) / sizeof(units[0]), out);
}

char *quantity_format_bytes(uint64_t bytes, char *text, size_t len)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	size_t unit = 0;

	for (; value >= 1024; unit++)
		value /= 1024;
	snprintf(text, len, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
	return text;
}
