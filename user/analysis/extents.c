/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sorted, disjoint ranges. Most programs access a file in order: the last range grows.
 */
#include "analysis/extents.h"

#include <stdlib.h>
#include <string.h>

/* Finds the first range that ends at or after begin. */
static size_t extents_find(const struct extents *e, uint64_t begin)
{
	size_t low = 0, high = e->n;

	if (e->n && e->v[e->n - 1].begin <= begin)
		return e->v[e->n - 1].end >= begin ? e->n - 1 : e->n;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (e->v[middle].end < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t extents_overlap(const struct extent *x, uint64_t begin, uint64_t end)
{
	uint64_t b = x->begin > begin ? x->begin : begin, n = x->end < end ? x->end : end;

	return n > b ? n - b : 0;
}

static bool extents_insert(struct extents *e, size_t at, uint64_t begin, uint64_t end)
{
	if (e->n == e->cap) {
		size_t cap = e->cap ? e->cap * 2 : 4;
		struct extent *v = realloc(e->v, cap * sizeof(*v));

		if (!v)
			return false;
		e->v = v;
		e->cap = cap;
	}
	memmove(&e->v[at + 1], &e->v[at], (e->n - at) * sizeof(*e->v));
	e->v[at] = (struct extent){ begin, end };
	e->n++;
	return true;
}

uint64_t extents_add(struct extents *e, uint64_t begin, uint64_t end)
{
	size_t first = extents_find(e, begin), last = first;
	uint64_t common = 0;

	if (end <= begin)
		return 0;
	while (last < e->n && e->v[last].begin <= end)
		common += extents_overlap(&e->v[last++], begin, end);
	if (first == last) {
		if (e->n >= EXTENTS_MAX || !extents_insert(e, first, begin, end))
			e->full = true;
		return 0;
	}
	if (e->v[first].begin > begin)
		e->v[first].begin = begin;
	e->v[first].end = e->v[last - 1].end > end ? e->v[last - 1].end : end;
	memmove(&e->v[first + 1], &e->v[last], (e->n - last) * sizeof(*e->v));
	e->n -= last - first - 1;
	return common;
}

uint64_t extents_bytes(const struct extents *e)
{
	uint64_t bytes = 0;

	for (size_t i = 0; e && i < e->n; i++)
		bytes += e->v[i].end - e->v[i].begin;
	return bytes;
}

uint64_t extents_common(const struct extents *a, const struct extents *b)
{
	uint64_t bytes = 0;

	for (size_t i = 0, j = 0; a && b && i < a->n && j < b->n; ) {
		bytes += extents_overlap(&a->v[i], b->v[j].begin, b->v[j].end);
		if (a->v[i].end < b->v[j].end)
			i++;
		else
			j++;
	}
	return bytes;
}

void extents_clear(struct extents *e)
{
	free(e->v);
	*e = (struct extents){ 0 };
}

void extents_free(struct extents *e)
{
	if (e)
		extents_clear(e);
	free(e);
}
