/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Limits on what a recording writes, set by the user or the site's policy; budget.h enforces them.
 */
#ifndef IOPROBE_BOUNDS_H
#define IOPROBE_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOUNDS_LEAST_BYTES (256u << 10)         /* size of spool and archive of an almost empty recording */

/* 0 in each member: no limit. */
struct bounds {
	uint64_t max_bytes;             /* of spool and archive together */
	uint64_t min_free_bytes;        /* of the output's file system, for unprivileged users */
	double max_rate;                /* calls per second of the whole recording, averaged over a second */
	bool cpu_time;                  /* --cpu-time: calls take more room in the archive */
	char max_size_text[32], min_free_text[32];      /* as given, for messages */
};

/* Each parses an option's value as the user wrote it: a size as in quantity.h, or calls per second. Returns 0, or -EINVAL with one
 * line in err that names the option. */
int bounds_set_max_size(struct bounds *bounds, const char *text, char *err, size_t err_len);
int bounds_set_min_free(struct bounds *bounds, const char *text, char *err, size_t err_len);
int bounds_set_max_rate(struct bounds *bounds, const char *text, char *err, size_t err_len);

#endif
