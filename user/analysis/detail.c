/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads two threads again and keeps what the figures show of them. Totals of all threads are in the facts: here is only what they
 * do not have, the order in time.
 */
#include "analysis/detail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collect.h"
#include "analysis/instances.h"
#include "trace/read.h"

const char *const detail_kind_names[DETAIL_KINDS] = { "open", "read", "write", "close", "other" };

struct call {
	uint64_t begin_ns, bytes[DIRS], unknown;
	uint32_t region, handle;
	enum detail_kind kind;
	bool non_blocking;
};

struct reading {
	struct detail *detail;
	const struct analysis *a;
	uint32_t *row_of; /* by handle: 1 + its row */
	struct detail_row *table;
	uint32_t location;
	struct call stack[MAX_DEPTH];
	unsigned depth, skipped;
	uint64_t origin_ns; /* of the bins */
	double bin_ns;
	bool failed; /* out of memory */
};

/* ---- selection ---- */

static void select_ranks(struct detail *d, const struct instance *v, size_t from, size_t to)
{
	const struct instance *most = &v[from], *least;

	for (size_t i = from + 1; i < to; i++)
		if (v[i].system_bytes > most->system_bytes)
			most = &v[i];
	least = most == &v[from] ? &v[from + 1] : &v[from];     /* at least two take part */
	for (size_t i = from; i < to; i++)
		if (&v[i] != most && v[i].system_bytes <= least->system_bytes)
			least = &v[i];
	d->stacks[0].location = most->location;
	d->stacks[1].location = least->location;
	d->region = most->region;
}

/* The longest collective call of several threads; one whose system calls moved data is preferred. */
static void select_collective(struct detail *d, const struct facts *f)
{
	uint64_t longest = 0;
	bool moves = false;

	for (size_t i = 0, next; i < f->instances.n; i = next) {
		struct instance_sum s;
		uint64_t ns;

		next = instance_sum(f, i, &s);
		ns = s.last_leave - s.first_enter;
		if (s.members < 2 || (moves && !s.workers) || (moves == (s.workers > 0) && ns <= longest))
			continue;
		longest = ns;
		moves = s.workers > 0;
		d->has_collective = true;
		d->file = f->instances.v[i].file;
		d->begin_ns = s.first_enter;
		d->end_ns = s.last_leave;
		d->members = s.members;
		d->workers = s.workers;
		select_ranks(d, f->instances.v, i, next);
	}
}

/* ---- rows of handles ---- */

static struct detail_row *row_add(struct reading *r, const struct detail_row *key)
{
	struct detail_row *row = calloc(1, sizeof(*row)), **slot = row ? TRACE_ADD(r->detail->rows) : NULL;

	if (slot) {
		row->key = key->key;
		row->first_ns = UINT64_MAX;
		row->index = r->detail->rows.n - 1;
		*slot = row;
		HASH_ADD(hh, r->table, key, sizeof(row->key), row);
		if (hash_added(row))
			return row;
		r->detail->rows.n--;
	}
	free(row);
	r->failed = true;
	return NULL;
}

/* Returns the row of a handle, NULL if there are too many. The number of parents is bounded: those of a damaged archive may form a
 * circle. */
static struct detail_row *detail_row_of(struct reading *r, uint32_t handle, unsigned depth)
{
	const struct trace *t = r->a->trace;
	const struct trace_handle *h = &t->handles.v[handle];
	struct detail_row *row, *parent = NULL, key;

	if (r->row_of[handle])
		return r->detail->rows.v[r->row_of[handle] - 1];
	if (h->parent < t->handles.n && depth < LAYERS)
		parent = detail_row_of(r, h->parent, depth + 1);
	memset(&key, 0, sizeof(key));
	key.key.parent = parent ? parent->index : TRACE_NONE;
	key.key.layer = h->paradigm < t->paradigms.n ? t->paradigms.v[h->paradigm].layer : LAYER_OTHER;
	key.key.file = h->file < t->files.n ? h->file : TRACE_NONE;
	HASH_FIND(hh, r->table, &key.key, sizeof(key.key), row);
	if (!row && r->detail->rows.n < DETAIL_ROWS)
		row = row_add(r, &key);
	if (row)
		r->row_of[handle] = row->index + 1;
	return row;
}

/* begin, end: since the thread's first event */
static void detail_add_busy(const struct reading *r, float *bins, uint64_t begin, uint64_t end)
{
	uint64_t first = begin / r->bin_ns, last = end / r->bin_ns;

	for (uint64_t b = first; b <= last && b < DETAIL_BINS; b++) {
		double from = b * r->bin_ns > begin ? b * r->bin_ns : begin,
		       to = (b + 1) * r->bin_ns < end ? (b + 1) * r->bin_ns : end;

		bins[b] += to > from ? to - from : 0;
	}
	if (begin == end && first < DETAIL_BINS)
		bins[first] += 1; /* shorter than the clock's resolution: shown, not dropped */
}

static void detail_count_handle(struct reading *r, const struct call *c, uint64_t end)
{
	struct detail_row *row = c->handle == TRACE_NONE ? NULL : detail_row_of(r, c->handle, 0);

	if (!row) {
		r->detail->dropped_rows += c->handle != TRACE_NONE;
		return;
	}
	row->n[c->kind]++;
	row->ns += end - c->begin_ns;
	row->unknown += c->unknown;
	for (int d = 0; d < DIRS; d++)
		row->bytes[d] += c->bytes[d];
	row->first_ns = c->begin_ns < row->first_ns ? c->begin_ns : row->first_ns;
	row->last_ns = end > row->last_ns ? end : row->last_ns;
	detail_add_busy(r, row->busy[c->kind], c->begin_ns - r->origin_ns, end - r->origin_ns);
}

/* ---- stacks ---- */

static uint32_t path_find(struct reading *r, uint32_t parent, uint32_t region, unsigned depth)
{
	struct detail *d = r->detail;
	struct detail_path *path;

	for (uint32_t i = 0; i < d->paths.n; i++)
		if (d->paths.v[i].parent == parent && d->paths.v[i].region == region)
			return i;
	if (d->paths.n == DETAIL_PATHS)
		return TRACE_NONE;
	path = TRACE_ADD(d->paths);
	r->failed |= !path;
	if (!path)
		return TRACE_NONE;
	*path = (struct detail_path){ parent, region, depth, { { 0 } } };
	return d->paths.n - 1;
}

static void count_path(struct reading *r, unsigned side, uint64_t ns)
{
	uint32_t path = TRACE_NONE;

	for (unsigned i = 0; i < r->depth; i++) {
		path = path_find(r, path, r->stack[i].region, i);
		if (path == TRACE_NONE) {
			r->detail->dropped_paths++;
			return;
		}
	}
	r->detail->paths.v[path].of[side].n++;
	r->detail->paths.v[path].of[side].ns += ns;
}

static void detail_count_frame(struct reading *r, const struct call *c, uint64_t end)
{
	struct detail *d = r->detail;
	uint64_t from = c->begin_ns > d->begin_ns ? c->begin_ns : d->begin_ns, to = end < d->end_ns ? end : d->end_ns;

	if (!d->has_collective || c->begin_ns > d->end_ns || end < d->begin_ns)
		return;
	for (unsigned side = 0; side < 2; side++) {
		struct detail_stack *s = &d->stacks[side];
		struct detail_frame *f;

		if (s->location != r->location)
			continue;
		count_path(r, side, to - from);
		if (s->frames.n == DETAIL_FRAMES) {
			s->dropped++;
			continue;
		}
		f = TRACE_ADD(s->frames);
		r->failed |= !f;
		if (f)
			*f = (struct detail_frame){ from, to, c->region, r->depth - 1 };
	}
}

/* ---- events ---- */

static bool detail_on_selects(void *worker, uint32_t location)
{
	const struct detail *d = ((struct reading *)worker)->detail;

	return location == d->location ||
	       (d->has_collective && (location == d->stacks[0].location || location == d->stacks[1].location));
}

static void detail_on_location_begin(void *worker, uint32_t location)
{
	struct reading *r = worker;

	r->location = location;
	r->depth = r->skipped = 0;
}

static void detail_on_enter(void *worker, uint64_t ns, uint32_t region, uint32_t site)
{
	struct reading *r = worker;

	(void)site;
	if (r->depth == MAX_DEPTH)
		r->skipped++;
	else
		r->stack[r->depth++] =
			(struct call){ .begin_ns = ns, .region = region, .handle = TRACE_NONE, .kind = DETAIL_OTHER };
}

static void end_call(struct reading *r, uint64_t ns)
{
	const struct call *c = &r->stack[r->depth - 1];
	uint64_t end = ns > c->begin_ns ? ns : c->begin_ns;

	if (r->location == r->detail->location && c->begin_ns >= r->a->facts->filter.from_ns &&
	    c->begin_ns <= r->a->facts->filter.to_ns)
		detail_count_handle(r, c, end);
	detail_count_frame(r, c, end);
	r->depth--;
}

static void detail_on_leave(void *worker, uint64_t ns, uint32_t region, const struct trace_leave *leave)
{
	struct reading *r = worker;
	unsigned at = r->depth;

	if (r->skipped) {
		r->skipped--;
		return;
	}
	while (at && r->stack[at - 1].region != region)
		at--;
	if (!at)
		return;
	r->depth = at; /* calls that were left without a return have no duration */
	end_call(r, leave->abandoned ? r->stack[at - 1].begin_ns : ns);
}

/* A call that had not returned when the recording ended: its duration is not known, but it was on the stack. */
static void detail_on_location_end(void *worker, uint32_t location)
{
	struct reading *r = worker;

	(void)location;
	for (; r->depth; r->depth--)
		detail_count_frame(r, &r->stack[r->depth - 1], UINT64_MAX);
}

static struct call *detail_current(struct reading *r)
{
	return r->depth && !r->skipped ? &r->stack[r->depth - 1] : NULL;
}

static void detail_on_begin(void *worker, uint64_t ns, const struct trace_op *op)
{
	struct call *c = detail_current(worker);

	(void)ns;
	if (!c)
		return;
	if (c->handle == TRACE_NONE) {
		c->handle = op->handle;
		c->kind = op->kind == OP_READ ? DETAIL_READ : op->kind == OP_WRITE ? DETAIL_WRITE : DETAIL_OTHER;
	}
	c->non_blocking |= op->non_blocking;
	if (op->kind != OP_FLUSH && op->non_blocking && op->bytes != TRACE_UNKNOWN)
		c->bytes[op->kind == OP_WRITE] += op->bytes; /* as in nest.c: its end may be in another thread */
}

static void detail_on_complete(void *worker, uint64_t ns, uint32_t handle, uint64_t id, uint64_t bytes)
{
	struct call *c = detail_current(worker);

	(void)ns, (void)id;
	if (!c || c->handle != handle || c->non_blocking || (c->kind != DETAIL_READ && c->kind != DETAIL_WRITE))
		return;
	if (bytes == TRACE_UNKNOWN)
		c->unknown++;
	else
		c->bytes[c->kind == DETAIL_WRITE] += bytes;
}

static void detail_on_handle(void *worker, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other,
			     uint64_t position)
{
	struct call *c = detail_current(worker);

	(void)ns, (void)position;
	if (!c || c->handle != TRACE_NONE)
		return;
	c->handle = event == HANDLE_DUPLICATE ? other : handle;
	if (event == HANDLE_CREATE || event == HANDLE_CREATE_FILE || event == HANDLE_DUPLICATE)
		c->kind = DETAIL_OPEN;
	else if (event == HANDLE_DESTROY)
		c->kind = DETAIL_CLOSE;
}

static const struct trace_visitor visitor = {
	.selects = detail_on_selects,
	.location_begin = detail_on_location_begin,
	.location_end = detail_on_location_end,
	.enter = detail_on_enter,
	.leave = detail_on_leave,
	.begin = detail_on_begin,
	.complete = detail_on_complete,
	.handle = detail_on_handle,
};

int detail_read(struct detail *d, const struct analysis *a, char *err, size_t err_len)
{
	struct reading r = { .detail = d, .a = a };
	void *workers[] = { &r };
	int ret = 0;

	memset(d, 0, sizeof(*d));
	select_collective(d, a->facts);
	d->location = d->has_collective ? d->stacks[0].location : a->worst;
	if (d->location == TRACE_NONE)
		return 0;
	d->first_ns = r.origin_ns = a->facts->locations[d->location].first_ns;
	d->last_ns = a->facts->locations[d->location].last_ns;
	r.bin_ns = (double)(d->last_ns - d->first_ns) / DETAIL_BINS + 1;
	r.row_of = calloc(a->trace->handles.n + 1, sizeof(*r.row_of));
	r.failed = !r.row_of;
	if (!r.failed)
		ret = trace_read(a->trace, &visitor, workers, 1, err, err_len);
	if (r.failed && !ret) {
		snprintf(err, err_len, "%.200s: out of memory", a->trace->dir);
		ret = -ENOMEM;
	}
	HASH_CLEAR(hh, r.table); /* the rows belong to the detail */
	free(r.row_of);
	return ret;
}
