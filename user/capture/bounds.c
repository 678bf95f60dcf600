/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parses size and rate limits from options.
 */
#include "capture/bounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/quantity.h"

#define MAX_RATE 1e12

static int refuse_size(const char *option, const char *text, char *err, size_t err_len)
{
	snprintf(err, err_len, "%s: '%.64s' is not a number of bytes: give, for example, " QUANTITY_SIZES, option, text);
	return -EINVAL;
}

int bounds_set_max_size(struct bounds *bounds, const char *text, char *err, size_t err_len)
{
	uint64_t bytes;

	if (!quantity_bytes(text, &bytes))
		return refuse_size("--max-size", text, err, err_len);
	if (bytes < BOUNDS_LEAST_BYTES) {
		snprintf(err, err_len, "--max-size: %.64s leaves no room for an archive: give %uKiB or more", text,
			 BOUNDS_LEAST_BYTES >> 10);
		return -EINVAL;
	}
	bounds->max_bytes = bytes;
	snprintf(bounds->max_size_text, sizeof(bounds->max_size_text), "%s", text);
	return 0;
}

int bounds_set_min_free(struct bounds *bounds, const char *text, char *err, size_t err_len)
{
	uint64_t bytes;

	if (!quantity_bytes(text, &bytes))
		return refuse_size("--min-free", text, err, err_len);
	bounds->min_free_bytes = bytes;
	snprintf(bounds->min_free_text, sizeof(bounds->min_free_text), "%s", text);
	return 0;
}

int bounds_set_max_rate(struct bounds *bounds, const char *text, char *err, size_t err_len)
{
	char *end;
	double rate = strtod(text, &end);

	if (end == text || *end || !(rate > 0 && rate <= MAX_RATE)) {
		snprintf(err, err_len, "--max-rate: '%.64s' is not a number of calls per second: give, for example, 100000", text);
		return -EINVAL;
	}
	bounds->max_rate = rate;
	return 0;
}
