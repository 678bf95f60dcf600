/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Replays the nesting of calls of a location. The cost and the effects of a call are known at its end; they are then added to its
 * own statistics and to its caller.
 */
#include "analysis/collect.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/classify.h"

static bool is_io(enum trace_layer layer)
{
	return layer <= LAYER_POSIX;
}

static struct frame *nest_top(struct collector *c)
{
	return c->depth ? &c->stack[c->depth - 1] : NULL;
}

static uint32_t nest_file_of(const struct collector *c, uint32_t handle)
{
	uint32_t file = handle < c->trace->handles.n ? c->trace->handles.v[handle].file : TRACE_NONE;

	return file < c->trace->files.n ? file : TRACE_NONE;
}

/* ---- begin ---- */

static void nest_on_enter(void *worker, uint64_t ns, uint32_t region, uint32_t site)
{
	struct collector *c = worker;
	struct frame *above = nest_top(c), *f;

	c->stat->events++;
	if (ns < c->stat->first_ns)
		c->stat->first_ns = ns;
	if (c->depth == MAX_DEPTH) {
		c->skipped++;
		return;
	}
	f = &c->stack[c->depth++];
	memset(f, 0, sizeof(*f));
	f->begin_ns = ns;
	f->region = region;
	f->site = site;
	f->handle = f->file = f->comm = TRACE_NONE;
	f->offset = f->request = TRACE_UNKNOWN;
	f->first_request = c->made.n;
	f->event = CLASS_NONE;
	f->frames = 1;
	f->layer = region == TRACE_NONE ? LAYER_NONE : c->trace->regions.v[region].layer;
	f->io = is_io(f->layer);
	f->outer = f->io;
	for (unsigned i = 0; i + 1 < c->depth; i++)
		f->outer &= !c->stack[i].io;
	if (f->outer && ns >= c->last_io_end_ns && ns - c->last_io_end_ns <= NEXT_CALL_NS)
		f->gap_ns = ns - c->last_io_end_ns;
	f->in_init = (above && above->in_init) || (region != TRACE_NONE && c->facts->region_class[region] == CLASS_INIT);
}

static void nest_on_begin(void *worker, uint64_t ns, const struct trace_op *op)
{
	struct collector *c = worker;
	struct frame *f = nest_top(c);

	(void)ns;
	c->stat->events++;
	if (!f || c->skipped)
		return;
	if (!f->ops++) {
		f->kind = op->kind;
		f->handle = op->handle;
		f->file = nest_file_of(c, op->handle);
		f->op_id = op->id;
		f->offset = op->offset;
		f->request = op->request;
		f->collective = op->collective;
		f->non_blocking = op->non_blocking;
		f->unaligned = op->unaligned;
		f->comm = op->handle < c->trace->handles.n ? c->trace->handles.v[op->handle].comm : TRACE_NONE;
		if (op->kind != OP_FLUSH && !op->non_blocking && op->offset == TRACE_UNKNOWN)
			collect_position(c, f);
	}
	if (op->kind == OP_FLUSH)
		return;
	if (f->layer == LAYER_AIO)
		collect_request_made(c, op->id);
	f->op_bytes = op->bytes;
	if (op->bytes == TRACE_UNKNOWN)
		f->unknown++;
	else
		f->asked += op->bytes;
	if (op->non_blocking && op->bytes != TRACE_UNKNOWN)
		f->moved += op->bytes;  /* the thread that takes the result may differ, so the requested bytes are counted */
}

static void nest_on_complete(void *worker, uint64_t ns, uint32_t handle, uint64_t id, uint64_t bytes)
{
	struct collector *c = worker;
	struct frame *f = nest_top(c);

	(void)ns, (void)id;
	c->stat->events++;
	if (!f || c->skipped || !f->ops || f->non_blocking || f->kind == OP_FLUSH || handle == TRACE_NONE)
		return;
	if (bytes != TRACE_UNKNOWN)
		f->moved += bytes;
	else if (f->op_bytes != TRACE_UNKNOWN)
		f->assumed += f->op_bytes;      /* MPI_STATUS_IGNORE: without an error the library moved what was asked */
}

/* ---- end ---- */

static enum call_class nest_class_of(const struct collector *c, const struct frame *f)
{
	enum call_class named = f->region == TRACE_NONE ? CLASS_NONE : c->facts->region_class[f->region];

	if (f->ops)
		return f->kind == OP_READ ? CLASS_READ : f->kind == OP_WRITE ? CLASS_WRITE : CLASS_SYNC;
	if (named == CLASS_DEFINE || named == CLASS_REDEFINE || named == CLASS_ATTRIBUTE || named == CLASS_RESIZE)
		return named;
	if (f->event != CLASS_NONE)
		return f->event;
	return named != CLASS_NONE ? named : f->io ? CLASS_META : CLASS_NONE;
}

static bool in_same_layer(const struct collector *c, const struct frame *f)
{
	for (const struct frame *above = c->stack; above < f; above++)
		if (above->layer == f->layer)
			return true;
	return false;
}

/* Adds the interval to the bins that it overlaps. */
static void nest_add_busy(const struct collector *c, float *bins, uint64_t begin, uint64_t end)
{
	uint64_t bin = begin / c->bin_ns;

	while (begin < end && bin < BINS) {
		uint64_t stop = (bin + 1) * c->bin_ns < end ? (bin + 1) * c->bin_ns : end;

		bins[bin++] += stop - begin;
		begin = stop;
	}
}

/* Its descriptor is a pipe or a socket, or unknown: communication, not file I/O. */
static bool no_file(const struct collector *c, const struct frame *f)
{
	return f->ops && (f->file == TRACE_NONE || c->facts->file_class[f->file] == FILE_NONE);
}

static void count_location(struct collector *c, struct frame *f, enum call_class class, uint64_t ns,
			   const struct trace_leave *leave)
{
	struct location_stat *s = c->stat;
	bool write = f->kind == OP_WRITE;

	s->frames[f->layer]++;
	s->layer[f->layer].calls++;
	s->layer[f->layer].failed += leave->failed;
	if (!in_same_layer(c, f)) {
		s->layer[f->layer].ns += ns;
		s->layer[f->layer].system_ns += f->system_ns;
	}
	if (f->ops && f->kind != OP_FLUSH && !no_file(c, f)) {
		s->layer[f->layer].bytes[write] += f->moved;
		s->layer[f->layer].unknown[write] += f->unknown;
	}
	if (f->layer == c->facts->lowest && !no_file(c, f) && !f->in_init) {
		s->class_ns[class] += ns;
		s->class_n[class]++;
		s->class_gap_ns[class] += f->gap_ns;
		if (looks_up_name(f->region == TRACE_NONE ? "" : c->trace->regions.v[f->region].name)) {
			s->lookups++;
			s->lookup_failed += leave->failed;
			s->lookup_failed_ns += leave->failed ? ns : 0;
			s->lookup_failed_gap_ns += leave->failed ? f->gap_ns : 0;
			collect_lookup(c, leave);
		}
	}
	if (!f->outer || no_file(c, f))
		return;
	if (f->in_init) {
		s->init_ns += ns;
		return;
	}
	s->io_ns += ns;
	s->mpi_ns += f->mpi_ns;
	if (f->layer != c->facts->lowest && ns > f->system_ns + f->mpi_ns)
		s->library_ns += ns - f->system_ns - f->mpi_ns;
	nest_add_busy(c, s->busy[class == CLASS_READ ? 0 : class == CLASS_WRITE ? 1 : 2], f->begin_ns, f->begin_ns + ns);
}

static struct call_stat *call_stat(struct collector *c, const struct frame *f)
{
	struct call_stat *s, key;

	memset(&key, 0, sizeof(key));
	key.key.region = f->region;
	key.key.file = f->file;
	key.key.site = f->site;
	key.key.location = c->location;
	HASH_FIND(hh, c->calls, &key.key, sizeof(key.key), s);
	if (s)
		return s;
	if (c->pass->shared.calls >= MAX_CALL_STATS && f->file != TRACE_NONE) {      /* a new file: combined with the others */
		c->pass->shared.merged++;
		key.key.file = TRACE_NONE;
		HASH_FIND(hh, c->calls, &key.key, sizeof(key.key), s);
		if (s)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (s) {
		s->key = key.key;
		s->first_ns = UINT64_MAX;
		HASH_ADD(hh, c->calls, key, sizeof(s->key), s);
		c->pass->shared.calls++;
		if (!hash_added(s)) {
			free(s);
			s = NULL;
		}
	}
	c->failed |= !s;
	return s;
}

static void count_series(struct collector *c, struct call_stat *s, const struct frame *f, uint64_t ns)
{
	bool lowest = f->layer == c->facts->lowest;

	if (!s->series)
		s->series = calloc(1, sizeof(*s->series));
	if (s->series)
		series_add(s->series, ns, lowest ? f->moved : f->below_bytes[DIR_READ] + f->below_bytes[DIR_WRITE], f->asked);
	c->failed |= !s->series;
}

/* A chunk that is in the cache, or goes there, is read or written as a whole. */
static void count_pieces(const struct collector *c, struct call_stat *s, const struct frame *f, uint64_t ns)
{
	if (f->layer != LAYER_HDF5 || !c->facts->chunked || f->handle >= c->trace->handles.n || !c->facts->chunked[f->handle] ||
	    f->below_tiny < PIECES)
		return;
	s->pieces++;
	s->pieces_n += f->below_n[DIR_READ] + f->below_n[DIR_WRITE];
	s->pieces_bytes += f->below_bytes[DIR_READ] + f->below_bytes[DIR_WRITE];
	s->pieces_ns += ns;
}

static void nest_count_call(struct collector *c, struct frame *f, enum call_class class, uint64_t ns,
			    const struct trace_leave *leave)
{
	struct call_stat *s = call_stat(c, f);

	if (!s)
		return;
	s->class = class;
	s->n++;
	s->failed += leave->failed;
	if (leave->failed)
		s->error = leave->error;
	s->ns += ns;
	s->own_ns += ns > f->child_ns ? ns - f->child_ns : 0;
	s->system_ns += f->system_ns;
	s->mpi_ns += f->mpi_ns;
	s->frames += f->frames;
	s->collective += f->collective;
	if (ns > s->max_ns)
		s->max_ns = ns;
	if (f->ops && f->kind != OP_FLUSH) {
		s->asked[f->kind == OP_WRITE] += f->asked;
		count_pieces(c, s, f, ns);
	}
	for (int d = 0; d < DIRS; d++) {
		s->below_n[d] += f->below_n[d];
		s->below_bytes[d] += f->below_bytes[d];
	}
	s->below_ns += f->below_ns;
	if (f->below_n[0] + f->below_n[1] > s->most_below)
		s->most_below = f->below_n[0] + f->below_n[1];
	if (f->outer) {
		s->outer_n++;
		s->outer_ns += ns;
		s->outer_gap_ns += f->gap_ns;
		if (f->ops && f->kind != OP_FLUSH && s->outer_n >= SERIES_FROM)
			count_series(c, s, f, ns);
		if (f->run.n >= 256 && f->run.same_size * 10 >= f->run.n * 9 && f->run.same_stride * 10 >= f->run.n * 9) {
			s->uniform++;
			s->uniform_ns += ns;
		}
	}
	if (f->begin_ns < s->first_ns)
		s->first_ns = f->begin_ns;
	if (f->begin_ns + ns > s->last_ns)
		s->last_ns = f->begin_ns + ns;
}

/* Adds the results to the calling frame. */
static void nest_hand_up(struct collector *c, const struct frame *f, uint64_t ns)
{
	struct frame *above = c->depth ? &c->stack[c->depth - 1] : NULL;
	bool lowest = f->layer == c->facts->lowest;
	bool data = lowest && f->ops && f->kind != OP_FLUSH && !no_file(c, f);

	if (!above)
		return;
	above->child_ns += ns;
	above->frames += f->frames;
	above->system_ns += lowest ? ns : f->system_ns;
	above->mpi_ns += f->layer == LAYER_MPI && ns > f->system_ns ? ns - f->system_ns : f->mpi_ns;
	above->below_ns += data ? ns : f->below_ns;
	above->below_tiny += data ? f->moved <= TINY_BYTES : f->below_tiny;
	for (int d = 0; d < DIRS; d++) {
		above->below_n[d] += f->below_n[d];
		above->below_bytes[d] += f->below_bytes[d];
	}
	if (data) {
		above->below_n[f->kind == OP_WRITE]++;
		above->below_bytes[f->kind == OP_WRITE] += f->moved;
	}
	if (above->file == TRACE_NONE && f->io)
		above->file = f->file; /* a create or open has its handle at its return: calls inside it already have the file */
}

static bool is_judged(const struct collector *c, const struct frame *f)
{
	return c->wanted && f->begin_ns >= c->facts->filter.from_ns && f->begin_ns <= c->facts->filter.to_ns;
}

static void count_meta(struct collector *c, struct frame *f, enum call_class class, uint64_t took, const struct trace_leave *leave)
{
	struct io_stat *io = collect_io(c, f->file, f->layer);

	if (!io)
		return;
	io->calls++;
	io->ns += in_same_layer(c, f) ? 0 : took;
	io->meta[class].n++;
	io->meta[class].ns += took;
	io->meta[class].gap_ns += f->gap_ns;
	io->meta[class].late_ns += took > LATE_NS ? took - LATE_NS : 0;
	io->meta[class].nested += f->frames - 1;
	io->meta[class].failed += leave->failed;
	io->meta[class].failed_ns += leave->failed ? took : 0;
	io->created += f->creates;
	if (class == CLASS_SYNC) {
		io->syncs_after_write += io->since_sync > 0;
		io->since_sync = 0;
	}
}

static void nest_count_frame(struct collector *c, struct frame *f, enum call_class class, uint64_t took,
			     const struct trace_leave *leave)
{
	count_location(c, f, class, took, leave);
	if (f->io && f->ops && f->kind != OP_FLUSH)
		collect_operation(c, f, took);
	if (f->outer && (class == CLASS_DEFINE || class == CLASS_CLOSE) && f->layer < LAYER_MPIIO)
		collect_relocation(c, f, took);
	if (f->io && f->file != TRACE_NONE)
		count_meta(c, f, class, took, leave);
	if (f->io || f->layer == LAYER_MPI)
		nest_count_call(c, f, class, took, leave);
}

static bool is_blocking_output(const struct collector *c, const struct frame *f, enum call_class class)
{
	return f->file != TRACE_NONE && c->facts->file_class[f->file] == FILE_DATA && !f->non_blocking &&
	       (class == CLASS_WRITE || class == CLASS_SYNC);
}

static void end_frame(struct collector *c, uint64_t ns, const struct trace_leave *leave)
{
	struct frame *f = &c->stack[c->depth - 1];
	uint64_t took = ns > f->begin_ns ? ns - f->begin_ns : 0;
	enum call_class class = nest_class_of(c, f);

	if (!leave->failed && !leave->abandoned)
		f->moved += f->assumed;
	f->failed = leave->failed;
	if (leave->abandoned) {
		c->stat->abandoned++;
		took = 0;               /* abandoned: its end is only when that was detected */
	}
	if (is_judged(c, f))
		nest_count_frame(c, f, class, took, leave);
	if (c->depth == 1)
		collect_beside(c, f, took, f->io && !no_file(c, f));
	if (c->depth == 1)
		collect_cpu(c, f, &leave->cpu, took, !f->io || f->in_init || no_file(c, f) ? CPU_OTHER :
			is_blocking_output(c, f, class) ? CPU_OUTPUT : CPU_IO);
	if (f->outer)
		c->last_io_end_ns = f->begin_ns + took;
	c->depth--;
	nest_hand_up(c, f, took);
}

static void nest_on_leave(void *worker, uint64_t ns, uint32_t region, const struct trace_leave *leave)
{
	static const struct trace_leave lost = { .abandoned = true, .mapped_handle = TRACE_NONE, .path = TRACE_NONE,
		.directory = TRACE_NONE };
	struct collector *c = worker;
	unsigned at = c->depth;

	c->stat->events++;
	if (ns > c->stat->last_ns)
		c->stat->last_ns = ns;
	if (c->skipped) {
		c->skipped--;
		return;
	}
	while (at && c->stack[at - 1].region != region)
		at--;
	if (!at) {
		c->stat->mismatched++;
		return;
	}
	while (c->depth > at) {
		c->stat->mismatched++;
		end_frame(c, ns, &lost);
	}
	if (leave->mapped_handle != TRACE_NONE)
		c->stack[c->depth - 1].file = nest_file_of(c, leave->mapped_handle);
	end_frame(c, ns, leave);
}

static int64_t rank_of(const struct trace *t, uint32_t location)
{
	uint32_t group = t->locations.v[location].group;

	return group < t->groups.n ? t->groups.v[group].rank : -1;
}

static void nest_on_location_begin(void *worker, uint32_t location)
{
	struct collector *c = worker;

	c->location = location;
	c->epoch++;
	c->depth = c->skipped = 0;
	c->outermost_end_ns = c->last_io_end_ns = TRACE_UNKNOWN;
	c->computed_ns = c->waited_ns = 0;
	c->span_open = false;
	c->collective_before = TRACE_NONE;
	c->stat = &c->facts->locations[location];
	c->wanted = c->facts->filter.rank < 0 || rank_of(c->trace, location) == c->facts->filter.rank;
	c->stat->first_ns = UINT64_MAX;
}

/* Calls that had not returned when the recording ended have no duration. */
static void nest_on_location_end(void *worker, uint32_t location)
{
	static const struct trace_leave unfinished = { .abandoned = true, .mapped_handle = TRACE_NONE, .path = TRACE_NONE,
		.directory = TRACE_NONE };
	struct collector *c = worker;

	(void)location;
	while (c->depth)
		end_frame(c, c->stack[c->depth - 1].begin_ns, &unfinished);
}

static bool nest_on_selects(void *worker, uint32_t location)
{
	const struct pass *pass = ((struct collector *)worker)->pass;

	return !pass->owner || pass->owner[location] == pass->index;
}

const struct trace_visitor collect_visitor = {
	.selects = nest_on_selects,
	.location_begin = nest_on_location_begin,
	.location_end = nest_on_location_end,
	.enter = nest_on_enter,
	.leave = nest_on_leave,
	.begin = nest_on_begin,
	.complete = nest_on_complete,
	.handle = collect_handle,
};
