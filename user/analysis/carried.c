/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * System calls that threads of a library make for requests of others (POSIX asynchronous I/O below a collective call of MPI-IO):
 * they count for the collective calls in which the requests were made. Both are on different locations, so they are joined after
 * the pass.
 */
#include "analysis/collect.h"

#include <errno.h>
#include <stdlib.h>

void collect_request_made(struct collector *c, uint64_t id)
{
	bool wanted = false;
	uint64_t *slot;

	for (unsigned i = 0; i < c->depth && !wanted; i++)
		wanted = c->stack[i].io && c->stack[i].collective;
	if (!wanted)
		return;
	slot = TRACE_ADD(c->made);
	c->failed |= !slot;
	if (slot)
		*slot = id;
}

void collect_request_carried_out(struct collector *c, const struct frame *f, uint64_t ns)
{
	struct carried *slot;

	if (f->request == TRACE_UNKNOWN)
		return;
	slot = TRACE_ADD(c->carried);
	c->failed |= !slot;
	if (slot)
		*slot = (struct carried){ f->request, ns, f->moved };
}

static int carried_by_id(const void *a, const void *b)
{
	const struct carried *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Returns the first one that is not before this id. */
static size_t lower_bound(const struct carried *v, size_t n, uint64_t id)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (v[middle].id < id)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static void add_to_instance(struct instance *instance, const uint64_t *made, const struct carried *v, size_t n)
{
	for (size_t i = instance->first_request; i < instance->end_request; i++)
		for (size_t k = lower_bound(v, n, made[i]); k < n && v[k].id == made[i]; k++) {
			instance->system_n++;
			instance->system_ns += v[k].ns;
			instance->system_bytes += v[k].bytes;
		}
}

int carried_join(struct collector *const *collectors, size_t n)
{
	TRACE_ARRAY(struct carried, all) = { 0 };

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < collectors[i]->carried.n; k++) {
			struct carried *slot = TRACE_ADD(all);

			if (!slot) {
				free(all.v);
				return -ENOMEM;
			}
			*slot = collectors[i]->carried.v[k];
		}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), carried_by_id);
	for (size_t i = 0; i < n && all.n; i++)
		for (size_t k = 0; k < collectors[i]->instances.n; k++)
			add_to_instance(&collectors[i]->instances.v[k], collectors[i]->made.v, all.v, all.n);
	free(all.v);
	return 0;
}
