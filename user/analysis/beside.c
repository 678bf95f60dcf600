/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Collective calls of MPI and spans of I/O between them. A rank cannot leave most of these calls before all have come: while it is
 * in one and another rank is in I/O, it waits for that I/O. Its own I/O is before or after.
 */
#include "analysis/beside.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/collect.h"

#define SPAN_GAP_NS 1000000     /* I/O calls with more time between them are two spans */

/* ---- while events are read ---- */

bool beside_is_collective(const char *name)
{
	static const char *const names[] = {
		"Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
		"Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
	};

	if (!name || strncmp(name, "MPI_", 4))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name + 4, names[i]))
			return true;
	return false;
}

static struct span *span_new(struct collector *c)
{
	struct span *s;

	if (c->pass->shared.spans >= MAX_SPANS) {
		c->pass->shared.dropped++;
		return NULL;
	}
	s = TRACE_ADD(c->spans);
	c->failed |= !s;
	if (s)
		c->pass->shared.spans++;
	return s;
}

static void add_call(struct collector *c, const struct frame *f, uint64_t ns)
{
	struct span *s = span_new(c);

	if (s)
		*s = (struct span){ .location = c->location, .region = f->region, .before = TRACE_NONE, .begin_ns = f->begin_ns,
				    .end_ns = f->begin_ns + ns };
	c->collective_before = f->region;
	c->span_open = false;
}

static void add_io(struct collector *c, const struct frame *f, uint64_t ns)
{
	struct span *s = c->span_open ? &c->spans.v[c->spans.n - 1] : NULL;

	if (s && f->begin_ns <= s->end_ns + SPAN_GAP_NS) {
		s->end_ns = f->begin_ns + ns;
		return;
	}
	s = span_new(c);
	if (s)
		*s = (struct span){ .location = c->location, .region = TRACE_NONE, .before = c->collective_before, .io = true,
				    .begin_ns = f->begin_ns, .end_ns = f->begin_ns + ns };
	c->collective_before = TRACE_NONE;
	c->span_open = s != NULL;
}

void collect_beside(struct collector *c, const struct frame *f, uint64_t ns, bool io)
{
	if (!c->facts->collective_region || !c->wanted || f->in_init)
		return;
	if (io)
		add_io(c, f, ns);
	else if (f->region != TRACE_NONE && c->facts->collective_region[f->region])
		add_call(c, f, ns);
}

/* ---- after it ---- */

int beside_span_order(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

/* Adds a span that ends after all others of the union. */
static void add_last(struct extents *io, uint64_t begin, uint64_t end)
{
	while (io->n && io->v[io->n - 1].end >= begin) {
		io->n--;
		begin = io->v[io->n].begin < begin ? io->v[io->n].begin : begin;
	}
	io->v[io->n++] = (struct extent){ begin, end };
}

/* The union of the spans of I/O, which are in the order of their ends. Returns false if there are none, or no memory (io->full). */
static bool io_of(const struct analysis *a, uint32_t of, struct extents *io)
{
	const struct facts *f = a->facts;

	*io = (struct extents){ .v = malloc((f->spans.n + 1) * sizeof(*io->v)) };
	io->full = !io->v;
	for (size_t i = 0; i < f->spans.n && io->v; i++)
		if (f->spans.v[i].io && (of == TRACE_NONE || f->spans.v[i].location == of))
			add_last(io, f->spans.v[i].begin_ns, f->spans.v[i].end_ns);
	return io->n > 0;
}

static uint64_t time_within(const struct extents *io, uint64_t begin, uint64_t end)
{
	size_t low = 0, high = io->n;
	uint64_t ns = 0;

	while (low < high) {            /* the first range that ends later */
		size_t middle = low + (high - low) / 2;

		if (io->v[middle].end <= begin)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < io->n && io->v[low].begin < end; low++) {
		uint64_t from = io->v[low].begin > begin ? io->v[low].begin : begin;
		uint64_t to = io->v[low].end < end ? io->v[low].end : end;

		ns += to > from ? to - from : 0;
	}
	return ns;
}

/* Returns the location of the last I/O span before this index that ends after `begin`. Spans are sorted by their ends. */
static uint32_t last_io_before(const struct facts *f, size_t i, uint64_t begin)
{
	while (i-- && f->spans.v[i].end_ns > begin)
		if (f->spans.v[i].io)
			return f->spans.v[i].location;
	return TRACE_NONE;
}

bool beside_find(const struct analysis *a, uint32_t of, struct beside_waits *waits)
{
	const struct facts *f = a->facts;
	struct extents io;

	*waits = (struct beside_waits){ calloc(f->spans.n + 1, sizeof(*waits->v)), 0 };
	if (!waits->v)
		return false;
	for (size_t i = 0, n = io_of(a, of, &io) ? f->spans.n : 0; i < n; i++) {
		const struct span *s = &f->spans.v[i];
		uint64_t ns = s->io || s->location == of ? 0 : time_within(&io, s->begin_ns, s->end_ns);

		if (ns)
			waits->v[waits->n++] = (struct beside_wait){ s->location, s->region, last_io_before(f, i, s->begin_ns),
								     s->begin_ns, s->end_ns, ns };
	}
	if (io.full) {
		free(waits->v);
		*waits = (struct beside_waits){ 0 };
		return false;
	}
	extents_clear(&io);
	return true;
}

static bool brings_to_one(const struct analysis *a, uint32_t region)
{
	const char *name = region == TRACE_NONE ? NULL : a->trace->regions.v[region].name;

	return name && (!strncmp(name, "MPI_Gather", 10) || !strcmp(name, "MPI_Reduce"));
}

struct beside_gathered beside_count_gathered(const struct analysis *a, uint32_t location)
{
	struct beside_gathered of = { 0 };
	uint64_t took = 0;

	for (size_t i = 0; i < a->facts->spans.n; i++) {
		const struct span *s = &a->facts->spans.v[i];

		if (s->location != location)
			continue;
		if (!s->io) {
			took = s->end_ns - s->begin_ns;
			continue;
		}
		of.spans++;
		of.gathered += brings_to_one(a, s->before);
		of.ns += brings_to_one(a, s->before) ? took : 0;
	}
	return of;
}

bool beside_has_calls(const struct analysis *a, uint32_t location, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < a->facts->spans.n; i++) {
		const struct span *s = &a->facts->spans.v[i];

		if (!s->io && s->location == location && s->end_ns >= from_ns && s->begin_ns <= to_ns)
			return true;
	}
	return false;
}
