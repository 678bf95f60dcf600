/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Bounds on what a recording writes, as the user or the site's policy sets them; budget.h enforces them.
 */
#ifndef IOPROBE_BOUNDS_H
#define IOPROBE_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

#define BOUNDS_LEAST_BYTES (256u << 10)         /* spool and archive of a recording of nearly nothing */

/* 0 in each: no bound. */
struct bounds {
	uint64_t max_bytes;             /* of spool and archive together */
	uint64_t min_free_bytes;        /* of the output's file system, for unprivileged users */
	double max_rate;                /* calls per second of the recording, over a second */
	char max_size_text[32], min_free_text[32];      /* as given, for messages */
};

/* Each takes an option's value as the user gave it: a size as in quantity.h, or calls per second. Returns 0, or -EINVAL with one
 * line in err, which names the option. */
int bounds_set_max_size(struct bounds *bounds, const char *text, char *err, size_t err_len);
int bounds_set_min_free(struct bounds *bounds, const char *text, char *err, size_t err_len);
int bounds_set_max_rate(struct bounds *bounds, const char *text, char *err, size_t err_len);

#endif
