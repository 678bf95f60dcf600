/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Formats numbers with three digits, which are enough to act on.
 */
#include "analysis/words.h"

#include <stdio.h>

void words_bytes(char *text, size_t len, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	unsigned unit = 0;

	while (value >= 1023.95 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(text, len, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void words_seconds(char *text, size_t len, uint64_t ns)
{
	double s = ns / 1e9;

	if (s >= 0.9995)
		snprintf(text, len, s < 99.95 ? "%.2f s" : "%.0f s", s);
	else if (s >= 0.00000095)
		snprintf(text, len, s >= 0.00095 ? "%.1f ms" : "%.3f ms", s * 1e3);
	else
		snprintf(text, len, ns ? "%.0f ns" : "0 s", s * 1e9);
}
