/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Elements of one size that come and go by the thousand: one that was given back is the next to be taken, without the work of an
 * allocator that joins free neighbours. Memory is given back at the end only.
 */
#ifndef IOPROBE_UTIL_POOL_H
#define IOPROBE_UTIL_POOL_H

#include <stddef.h>

struct pool {
	size_t size; /* of an element; set by the owner, all else is 0 at first */
	size_t left; /* elements of the newest chunk that were never taken */
	void *free, *chunks;
};

/* Returns an element that is all 0, aligned as by malloc; NULL if out of memory. */
void *pool_take(struct pool *pool);
/* NULL is allowed. */
void pool_give_back(struct pool *pool, void *element);
/* Frees all elements, whether given back or not. */
void pool_deinit(struct pool *pool);

#endif
