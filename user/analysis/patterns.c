/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Patterns of the operations on a file: sizes, order, repetition, and the call of an upper layer that caused them.
 */
#include "analysis/collect.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/classify.h"
#include "analysis/cost_model.h"

struct io_stat *collect_io(struct collector *c, uint32_t file, enum trace_layer layer)
{
	struct io_stat *s, key;

	memset(&key, 0, sizeof(key));
	key.key.file = file;
	key.key.location = c->location;
	key.key.layer = layer;
	HASH_FIND(hh, c->io, &key.key, sizeof(key.key), s);
	if (s)
		return s;
	if (c->pass->shared.io >= MAX_IO_STATS) {
		c->pass->shared.merged++;
		key.key.file = TRACE_NONE;
		HASH_FIND(hh, c->io, &key.key, sizeof(key.key), s);
		if (s)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (s) {
		s->key = key.key;
		for (int d = 0; d < DIRS; d++) {
			s->dir[d].first_ns = s->dir[d].min_offset = UINT64_MAX;
			s->dir[d].last_end = TRACE_UNKNOWN;
		}
		HASH_ADD(hh, c->io, key, sizeof(s->key), s);
		c->pass->shared.io++;
		if (!hash_added(s)) {
			free(s);
			s = NULL;
		}
	}
	c->failed |= !s;
	return s;
}

/* ---- positions of handles ---- */

static struct position *position_of(struct collector *c, uint32_t handle)
{
	struct position *p;

	if (handle >= c->trace->handles.n)
		return NULL;
	p = &c->positions[handle];
	if (p->epoch != c->epoch)
		return NULL;            /* unknown on this location */
	return p->root == handle ? p : position_of(c, p->root);
}

static void set_position(struct collector *c, uint32_t handle, uint64_t at)
{
	struct position *p = position_of(c, handle);

	if (!p && handle < c->trace->handles.n) {
		p = &c->positions[handle];
		*p = (struct position){ c->epoch, handle, 0 };
	}
	if (p)
		p->at = at;
}

/* A position that another location moves too makes both replays wrong. */
static void note_user(struct collector *c, uint32_t handle)
{
	uint32_t none = 0, mine = c->location + 1;

	if (!atomic_compare_exchange_strong(&c->pass->handle_user[handle], &none, mine) && none != mine)
		c->pass->handle_user[handle] = UINT32_MAX;
}

/* Calls with an offset of their own do not move the position; those of MPI-IO count in units of a view. Other recorders do not
 * record either. */
static bool moves_position(const struct collector *c, const struct frame *f)
{
	const char *name = f->region == TRACE_NONE ? NULL : c->trace->regions.v[f->region].name;

	if (f->layer != LAYER_POSIX && f->layer != LAYER_ISOC)
		return false;
	return !name || (strncmp(name, "pread", 5) && strncmp(name, "pwrite", 6));
}

void collect_position(struct collector *c, struct frame *f)
{
	struct position *p = position_of(c, f->handle);

	if (!moves_position(c, f))
		return;
	f->replayed = true;
	if (f->handle < c->trace->handles.n)
		note_user(c, f->handle);
	if (p && p->at != TRACE_UNKNOWN)
		f->offset = p->at;
}

void collect_handle(void *worker, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other, uint64_t position)
{
	static const enum call_class classes[] = { [HANDLE_CREATE] = CLASS_OPEN, [HANDLE_CREATE_FILE] = CLASS_OPEN,
						   [HANDLE_DESTROY] = CLASS_CLOSE, [HANDLE_DUPLICATE] = CLASS_META,
						   [HANDLE_SEEK] = CLASS_SEEK, [HANDLE_LOCK] = CLASS_LOCK,
						   [HANDLE_UNLOCK] = CLASS_LOCK,
						   [HANDLE_DELETE] = CLASS_DELETE };
	struct collector *c = worker;
	struct frame *f = c->depth && !c->skipped ? &c->stack[c->depth - 1] : NULL;

	(void)ns;
	c->stat->events++;
	if (f) {
		f->event = classes[event];
		f->creates |= event == HANDLE_CREATE_FILE;
		/* not f->file: a create has that of the first call inside it until its own handle is there */
		if (handle < c->trace->handles.n && f->handle == TRACE_NONE &&
		    c->trace->handles.v[handle].file < c->trace->files.n) {
			f->file = c->trace->handles.v[handle].file;
			f->handle = handle;
		} else if (event == HANDLE_DELETE && other < c->trace->files.n) {
			f->file = other;
		}
	}
	if (handle >= c->trace->handles.n)
		return;
	if (event == HANDLE_CREATE || event == HANDLE_CREATE_FILE) {
		c->positions[handle] = (struct position){ c->epoch, handle, position };
	} else if (event == HANDLE_SEEK) {
		note_user(c, handle);
		set_position(c, handle, position);
	} else if (event == HANDLE_DUPLICATE && other < c->trace->handles.n && other != handle) {
		if (!position_of(c, handle))
			set_position(c, handle, TRACE_UNKNOWN);
		c->positions[other] = (struct position){ c->epoch, handle, 0 };
	}
}

/* ---- one operation ---- */

static unsigned size_bin(uint64_t bytes)
{
	unsigned bin = bytes ? 64 - __builtin_clzll(bytes) : 0;

	return bin < SIZE_BINS ? bin : SIZE_BINS - 1;
}

static void count_order(struct dir_stat *d, const struct frame *f, uint64_t ns)
{
	d->positioned++;
	if (d->last_end == TRACE_UNKNOWN || f->offset == d->last_end) {
		d->sequential++;
	} else if (f->offset > d->last_end && f->offset - d->last_end <= NEAR_BYTES) {
		d->near++;
	} else {
		d->random++;
		d->random_ns += ns;
	}
	d->last_end = f->offset + f->moved;
	if (f->offset < d->min_offset)
		d->min_offset = f->offset;
	if (f->offset + f->moved > d->end)
		d->end = f->offset + f->moved;
}

static void count_extent(struct collector *c, struct dir_stat *d, const struct frame *f, uint64_t ns)
{
	uint64_t before;

	if (!d->extents && !(d->extents = calloc(1, sizeof(*d->extents)))) {
		c->failed = true;
		return;
	}
	before = extents_add(d->extents, f->offset, f->offset + f->moved);
	d->again_bytes += before;
	if (before * 2 > f->moved) {
		d->again++;
		d->again_ns += ns;
	}
}

static void count_sizes(struct dir_stat *d, const struct frame *f, uint64_t ns)
{
	d->n++;
	d->bytes += f->moved;
	d->asked += f->asked;
	d->unknown += f->unknown;
	d->ns += ns;
	d->gap_ns += f->gap_ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
	if (f->begin_ns < d->first_ns)
		d->first_ns = f->begin_ns;
	if (f->begin_ns + ns > d->last_ns)
		d->last_ns = f->begin_ns + ns;
	d->collective += f->collective;
	d->collective_ns += f->collective ? ns : 0;
	d->independent_ns += f->collective ? 0 : ns;
	d->non_blocking += f->non_blocking;
	if (f->unknown || f->failed)
		return;
	if (f->moved < SMALL_BYTES) {
		d->small++;
		d->small_bytes += f->moved;
		d->small_ns += ns;
		d->late_ns += ns > LATE_NS ? ns - LATE_NS : 0;
	}
	if (f->moved <= TINY_BYTES) {
		d->tiny++;
		d->tiny_ns += ns;
	}
	d->short_n += f->moved && f->moved < f->asked;
	if (!f->moved && f->asked)
		d->empty++;
}

/* Returns the outermost upper-layer call that caused this operation: NULL if there is none. */
static struct frame *patterns_outermost(struct collector *c, const struct frame *f)
{
	for (struct frame *above = c->stack; above < f; above++)
		if (above->io)
			return above;
	return NULL;
}

/* Space that is filled, and what is written over it later. */
static void count_filled(struct collector *c, struct io_stat *s, const struct frame *f, bool creates)
{
	struct extent range = { f->offset, f->offset + f->moved };

	if (f->offset == TRACE_UNKNOWN || f->unknown || (!creates && !s->filled))
		return;
	if (!creates) {
		s->filled_again += extents_common(s->filled, &(struct extents){ &range, 1, 1, false });
		return;
	}
	if (!s->filled && !(s->filled = calloc(1, sizeof(*s->filled))))
		c->failed = true;
	else
		extents_add(s->filled, range.begin, range.end);
}

static void count_cause(struct collector *c, struct io_stat *s, struct dir_stat *d, const struct frame *f,
			const struct frame *outer, uint64_t ns)
{
	bool write = f->kind == OP_WRITE, creates = false;

	d->nested++;
	d->nested_bytes += f->moved;
	for (struct frame *above = c->stack; above < f; above++) {
		if (!above->io)
			continue;
		creates |= above->region != TRACE_NONE && creates_space(c->trace->regions.v[above->region].name);
		if (above->layer == LAYER_MPIIO && above->collective) {
			d->below_collective++;
			d->below_collective_bytes += f->moved;
		}
	}
	if (!write && outer->ops && outer->kind == OP_WRITE) {
		s->reads_in_write++;
		s->reads_in_write_bytes += f->moved;
		s->reads_in_write_ns += ns;
	}
	if (write)
		count_filled(c, s, f, creates);
	if (write && creates) {
		s->writes_in_create++;
		s->writes_in_create_bytes += f->moved;
		s->writes_in_create_ns += ns;
	}
	if ((!outer->ops || outer->kind == OP_FLUSH) && f->moved <= TINY_BYTES * 16) {
		*(write ? &s->meta_writes : &s->meta_reads) += 1;
		*(write ? &s->meta_writes_ns : &s->meta_reads_ns) += ns;
	}
}

/* A call that ends definitions, or closes the file, has read data and written as much: the most of what its rank has of the
 * file. */
void collect_relocation(struct collector *c, const struct frame *f, uint64_t ns)
{
	uint64_t read = f->below_bytes[DIR_READ], written = f->below_bytes[DIR_WRITE],
		members = f->comm == TRACE_NONE ? 1 : c->facts->nranks;
	struct io_stat *s;

	if (read < TINY_BYTES * 16 || written < TINY_BYTES * 16 || written * 10 < read * 4 || f->file == TRACE_NONE)
		return;
	s = collect_io(c, f->file, c->facts->lowest);
	if (!s || s->dir[DIR_WRITE].end / (members ? members : 1) > 2 * written)
		return;
	s->relocations += f->below_n[DIR_READ] + f->below_n[DIR_WRITE];
	s->relocated_read += read;
	s->relocated_written += written;
	s->relocation_ns += f->below_ns;
	s->relocation_frame_ns += ns;
}

static void count_run(struct run *run, const struct frame *f)
{
	uint64_t stride = f->offset - run->last;

	if (f->offset == TRACE_UNKNOWN || f->moved >= 65536)
		return;
	if (run->n) {
		run->same_size += f->moved == run->size;
		run->same_stride += stride == run->stride && stride > f->moved;
		if (run->n == 1)
			run->stride = stride;
	}
	run->size = run->n ? run->size : f->moved;
	run->last = f->offset;
	run->n++;
}

static void count_instance(struct collector *c, struct io_stat *s, const struct frame *f, uint64_t ns)
{
	const struct frame *outer = patterns_outermost(c, f);
	struct instance *i;

	if (c->pass->shared.instances >= MAX_INSTANCES) {
		c->pass->shared.dropped++;
		return;
	}
	i = TRACE_ADD(c->instances);
	c->failed |= !i;
	if (!i)
		return;
	c->pass->shared.instances++;
	*i = (struct instance){ .file = f->file, .ordinal = s->collectives++, .location = c->location, .region = f->region,
				.comm = f->comm,
				.of_data = !outer || (outer->ops && outer->kind != OP_FLUSH),
				.enter_ns = f->begin_ns, .leave_ns = f->begin_ns + ns, .asked = f->asked, .system_ns = f->below_ns,
				.system_bytes = f->below_bytes[DIR_READ] + f->below_bytes[DIR_WRITE],
				.system_n = f->below_n[DIR_READ] + f->below_n[DIR_WRITE],
				.first_request = f->first_request, .end_request = c->made.n };
}

static void count_lowest(struct collector *c, struct io_stat *s, struct dir_stat *d, struct frame *f, uint64_t ns)
{
	struct frame *outer = patterns_outermost(c, f);
	uint64_t block = file_alignment(c->trace, f->file), bin = f->begin_ns / c->bin_ns;
	bool data = c->facts->file_class[f->file] == FILE_DATA;

	collect_request_carried_out(c, f, ns);
	if (outer) {
		count_cause(c, s, d, f, outer, ns);
		count_run(&outer->run, f);
	}
	if (f->offset != TRACE_UNKNOWN && !f->unknown && f->moved && data)
		count_extent(c, d, f, ns);
	if (f->offset != TRACE_UNKNOWN && block && f->moved >= block)
		d->unaligned += f->offset % block != 0;
	d->unaligned_memory += f->unaligned;
	if (data && bin < BINS)
		c->stat->data[bin] += f->moved;
	if (data && !f->unknown && !f->non_blocking && c->facts->file_fs[f->file] < FS_KINDS)
		size_times_add(&c->sizes[c->facts->file_fs[f->file]][f->kind == OP_WRITE][size_bin(f->moved)], f->moved, ns);
}

/* A collective data call of netCDF, PnetCDF or HDF5 stands above. */
static bool below_collective(const struct collector *c, const struct frame *f)
{
	for (const struct frame *above = c->stack; above < f; above++)
		if (above->io && above->collective && above->layer < LAYER_MPIIO && above->ops && above->kind != OP_FLUSH)
			return true;
	return false;
}

void collect_operation(struct collector *c, struct frame *f, uint64_t ns)
{
	struct position *p = f->replayed ? position_of(c, f->handle) : NULL;
	struct io_stat *s;
	struct dir_stat *d;

	if (p && p->at != TRACE_UNKNOWN)
		p->at += f->moved;
	if (f->file == TRACE_NONE || !(s = collect_io(c, f->file, f->layer)) || s->key.file == TRACE_NONE)
		return;
	d = &s->dir[f->kind == OP_WRITE];
	count_sizes(d, f, ns);
	if (f->kind == OP_WRITE)
		s->since_sync++;
	if (f->offset != TRACE_UNKNOWN && !f->unknown)
		count_order(d, f, ns);
	if (!f->unknown)
		c->size_counts[f->layer][f->kind == OP_WRITE][size_bin(f->moved)]++;
	if (f->layer == c->facts->lowest)
		count_lowest(c, s, d, f, ns);
	if (f->layer == LAYER_MPIIO && f->collective)
		count_instance(c, s, f, ns);
	if (f->layer == LAYER_MPIIO && !f->collective && below_collective(c, f)) {
		s->degraded++;
		s->degraded_bytes += f->moved;
		s->degraded_ns += ns;
	}
}
