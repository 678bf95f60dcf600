/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Headers of classic netCDF files (CDF-1, CDF-2, CDF-5), which define their dimensions and variables. The format is in netCDF's
 * "File Format Specifications". The bytes are a recorded program's and not trusted.
 */
#ifndef IOPROBE_CLASSIC_H
#define IOPROBE_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLASSIC_DIMENSIONS 8    /* of a variable: more are not kept */

struct classic_variable {
	int64_t id, type;
	const char *name;               /* in the header, without a NUL */
	size_t name_len;
	uint64_t ndims;
	int64_t dims[CLASSIC_DIMENSIONS];       /* the first of them */
};

/* What the header defines, in its order. The functions return 0, or an error that ends the reading. */
struct classic_user {
	void *arg;
	/* unlimited: length is the number of records when the header was read */
	int (*dimension)(void *arg, int64_t id, uint64_t length, bool unlimited);
	int (*variable)(void *arg, const struct classic_variable *variable);
};

/* Reads a header, of which the first len bytes are known: what is complete in them is passed on. Returns 0, also if it is no such
 * header, or the user's error. */
int classic_read(const void *header, size_t len, const struct classic_user *user);

#endif
