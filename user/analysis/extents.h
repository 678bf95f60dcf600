/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The union of byte ranges of a file. Memory is bounded: with EXTENTS_MAX ranges, a range that touches none of them is not added.
 * Then the union, and the results of extents_add, are lower bounds, and full is set.
 */
#ifndef IOPROBE_ANALYSIS_EXTENTS_H
#define IOPROBE_ANALYSIS_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENTS_MAX 32768

struct extent { uint64_t begin, end; };
struct extents { struct extent *v; size_t n, cap; bool full; };

/* Adds a range; returns how many of its bytes were already in the union. */
uint64_t extents_add(struct extents *extents, uint64_t begin, uint64_t end);
uint64_t extents_bytes(const struct extents *extents);
/* Returns the number of bytes in both. */
uint64_t extents_common(const struct extents *a, const struct extents *b);
void extents_clear(struct extents *extents);    /* frees the ranges */
void extents_free(struct extents *extents);     /* NULL is allowed */

#endif
