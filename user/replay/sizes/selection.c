/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Selections of hyperslabs as lists of disjoint boxes, so that the number of elements in combined ones is exact.
 */
#include "replay/frame.h"
#include "replay/sizes/sized.h"

#include <stdlib.h>
#include <string.h>

#define BOXES_MAX 512
enum { SELECT_OR = 1, SELECT_AND, SELECT_XOR, SELECT_NOTB, SELECT_NOTA };       /* H5S_seloper_t */

struct box { int64_t first[SELECTION_RANKS], end[SELECTION_RANKS]; };   /* end: behind the last element */
struct selection { unsigned rank, n; struct box v[]; };

static struct selection *selection_new(unsigned rank)
{
	struct selection *selection = malloc(sizeof(*selection) + BOXES_MAX * sizeof(struct box));

	if (selection)
		*selection = (struct selection){ .rank = rank };
	return selection;
}

/* Shrinks the allocation: most selections are small. */
static struct selection *selection_fitted(struct selection *selection)
{
	return selection ? realloc(selection, sizeof(*selection) + selection->n * sizeof(selection->v[0])) ?: selection : NULL;
}

static bool add_box(struct selection *to, const struct box *box)
{
	if (to->n == BOXES_MAX)
		return false;
	to->v[to->n++] = *box;
	return true;
}

/* Merges adjacent blocks. */
static bool selection_normalize(struct hyperslab *slab, uint64_t *boxes)
{
	*boxes = 1;
	for (unsigned d = 0; d < slab->rank; d++) {
		if (slab->count[d] < 0 || slab->block[d] < 0 || slab->start[d] < 0 || slab->stride[d] < 0)
			return false;
		if (slab->count[d] > 1 && slab->stride[d] < slab->block[d])     /* overlapping blocks: HDF5 rejects them */
			return false;
		if (slab->count[d] > 1 && slab->stride[d] == slab->block[d] &&
		    !__builtin_mul_overflow(slab->block[d], slab->count[d], &slab->block[d]))
			slab->count[d] = 1;
		*boxes = size_product(*boxes, slab->count[d]);
	}
	return *boxes <= BOXES_MAX;
}

struct selection *selection_empty(unsigned rank)
{
	return rank > SELECTION_RANKS ? NULL : selection_fitted(selection_new(rank));
}

struct selection *selection_of(const struct hyperslab *given)
{
	struct hyperslab slab = *given;
	struct selection *selection;
	uint64_t boxes;

	if (!selection_normalize(&slab, &boxes))
		return NULL;
	selection = selection_new(slab.rank);
	for (uint64_t i = 0; selection && i < boxes; i++) {
		struct box box = { 0 };
		uint64_t rest = i;

		for (unsigned d = 0; d < slab.rank; d++) {
			int64_t k = rest % slab.count[d];

			rest /= slab.count[d];
			if (__builtin_mul_overflow(k, slab.stride[d], &box.first[d]) ||
			    __builtin_add_overflow(box.first[d], slab.start[d], &box.first[d]) ||
			    __builtin_add_overflow(box.first[d], slab.block[d], &box.end[d])) {
				free(selection);
				return NULL;
			}
		}
		add_box(selection, &box);
	}
	return selection_fitted(selection);
}

static bool selection_intersect(const struct box *a, const struct box *b, unsigned rank, struct box *out)
{
	for (unsigned d = 0; d < rank; d++) {
		out->first[d] = a->first[d] > b->first[d] ? a->first[d] : b->first[d];
		out->end[d] = a->end[d] < b->end[d] ? a->end[d] : b->end[d];
		if (out->first[d] >= out->end[d])
			return false;
	}
	return true;
}

/* Computes a minus b: along each dimension the parts before and behind b; the remaining part of a then lies inside b in that
 * dimension. */
static bool subtract_box(const struct box *a, const struct box *b, unsigned rank, struct selection *out)
{
	struct box rest = *a, common;

	if (!selection_intersect(a, b, rank, &common))
		return add_box(out, a);
	for (unsigned d = 0; d < rank; d++) {
		struct box part = rest;

		part.end[d] = common.first[d];
		if (part.first[d] < part.end[d] && !add_box(out, &part))
			return false;
		part = rest;
		part.first[d] = common.end[d];
		if (part.first[d] < part.end[d] && !add_box(out, &part))
			return false;
		rest.first[d] = common.first[d];
		rest.end[d] = common.end[d];
	}
	return true;
}

static struct selection *selection_subtract(const struct selection *a, const struct selection *b)
{
	struct selection *left = selection_copy(a), *next;

	for (unsigned i = 0; left && i < b->n; i++) {
		bool fits = (next = selection_new(a->rank));

		for (unsigned k = 0; fits && k < left->n; k++)
			fits = subtract_box(&left->v[k], &b->v[i], a->rank, next);
		free(left);
		left = next;
		if (!fits) {
			free(left);
			return NULL;
		}
	}
	return left;
}

static bool add_all(struct selection *to, const struct selection *from)
{
	for (unsigned i = 0; i < from->n; i++)
		if (!add_box(to, &from->v[i]))
			return false;
	return true;
}

/* Adds minuend minus subtrahend to a, which must not contain any of it. */
static struct selection *add_difference(const struct selection *a, const struct selection *minuend,
					const struct selection *subtrahend)
{
	struct selection *out = a ? selection_copy(a) : NULL, *difference = selection_subtract(minuend, subtrahend);

	if (!out || !difference || !add_all(out, difference)) {
		free(out);
		out = NULL;
	}
	free(difference);
	return out;
}

static struct selection *selection_intersection(const struct selection *a, const struct selection *b)
{
	struct selection *out = selection_new(a->rank);
	struct box common;

	for (unsigned i = 0; out && i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			if (selection_intersect(&a->v[i], &b->v[k], a->rank, &common) && !add_box(out, &common)) {
				free(out);
				return NULL;
			}
	return out;
}

static struct selection *selection_exclusive(const struct selection *a, const struct selection *b)
{
	struct selection *left = selection_subtract(a, b), *out = add_difference(left, b, a);

	free(left);
	return out;
}

struct selection *selection_combine(struct selection *a, const struct hyperslab *slab, int64_t operation)
{
	struct selection *b = selection_of(slab), *out = NULL;

	if (a && b && a->rank == b->rank)
		switch (operation) {
		case SELECT_OR: out = add_difference(a, b, a); break;
		case SELECT_AND: out = selection_intersection(a, b); break;
		case SELECT_XOR: out = selection_exclusive(a, b); break;
		case SELECT_NOTB: out = selection_subtract(a, b); break;
		case SELECT_NOTA: out = selection_subtract(b, a); break;
		}
	free(a);
	free(b);
	return selection_fitted(out);
}

struct selection *selection_copy(const struct selection *selection)
{
	struct selection *copy = selection ? selection_new(selection->rank) : NULL;

	if (copy) {
		copy->n = selection->n;
		memcpy(copy->v, selection->v, selection->n * sizeof(selection->v[0]));
	}
	return copy;
}

uint64_t selection_elements(const struct selection *selection)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < selection->n; i++) {
		uint64_t elements = 1;

		for (unsigned d = 0; d < selection->rank; d++)
			elements = size_product(elements, selection->v[i].end[d] - selection->v[i].first[d]);
		if (elements == UNKNOWN || __builtin_add_overflow(sum, elements, &sum))
			return UNKNOWN;
	}
	return sum;
}
