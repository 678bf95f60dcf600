/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The arguments of an open call.
 */
#ifndef IOPROBE_REPLAY_FRAME_H
#define IOPROBE_REPLAY_FRAME_H

#include "replay/state.h"

static inline const struct table_row *frame_row(const struct replay *r, const struct frame *f)
{
	return &r->set.rows[f->probe];
}
static inline const struct row_info *frame_info(const struct replay *r, const struct frame *f)
{
	return &r->rows[f->probe];
}
static inline const struct table_layer *frame_layer(const struct replay *r, const struct frame *f)
{
	return &r->set.layers[frame_row(r, f)->layer];
}
/* Reads the value of the argument with this role. Returns false if there is none or it could not be read. */
static inline bool frame_arg(const struct replay *r, const struct frame *f, enum table_role role, int64_t *value)
{
	int arg = frame_info(r, f)->arg[role];

	if (arg < 0 || f->unread & 1 << arg)
		return false;
	*value = f->args[arg];
	return true;
}
struct str frame_string(const struct replay *r, const struct frame *f, enum table_role role);
/* Returns the recorded elements of an array argument; p is NULL if the argument is missing, unreadable or not an array. */
struct array frame_array(const struct replay *r, const struct frame *f, enum table_role role);
int64_t array_value(const struct array *array, size_t i);      /* i < n */
uint64_t array_product(const struct array *array, uint64_t n,
		       uint64_t product); /* of the first n; BYTES_UNKNOWN if one is missing */
uint64_t size_product(uint64_t a, uint64_t b);                 /* BYTES_UNKNOWN if either is, or if the product overflows */

#endif
