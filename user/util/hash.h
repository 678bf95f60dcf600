/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Hash tables: uthash, configured not to abort the process when memory runs out. An element that could not be added is not in the
 * table: check hash_added after each HASH_ADD…; if it is false, free the element and fail with -ENOMEM.
 */
#ifndef IOPROBE_HASH_H
#define IOPROBE_HASH_H

#include <stdint.h>
#include <string.h>

/* Numbers of 4 and 8 bytes are the keys that are looked up for each call: a multiplication takes a third of the time of uthash's
 * function, which other keys have. The halves are joined first, as many keys differ in one of them only (HDF5's ids; handle and
 * process). Bits from the middle of the product then spread numbers in sequence evenly. */
static inline unsigned hash_number(const void *key, size_t len)
{
	uint64_t number = 0;

	memcpy(&number, key, len);
	number = (number ^ number >> 32) * 0x9e3779b97f4a7c15ull;
	return number >> 32;
}

#define HASH_FUNCTION(key, len, hash) do { \
	if ((len) == 4 || (len) == 8) \
		(hash) = hash_number(key, (len) == 4 ? 4 : 8); \
	else \
		HASH_JEN(key, len, hash); \
} while (0)

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

#endif
