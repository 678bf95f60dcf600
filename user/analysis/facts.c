/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One pass over an archive: collectors in threads, perhaps of several processes; the results are merged in a fixed order.
 */
#include "analysis/facts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/classify.h"
#include "analysis/collect.h"
#include "analysis/peers.h"
#include "trace/file_facts.h"

struct collector *collector_new(struct pass *pass)
{
	struct collector *c = calloc(1, sizeof(*c)), **slot = c ? TRACE_ADD(pass->collectors) : NULL;
	const struct trace *t = pass->facts->trace;

	if (!slot) {
		free(c);
		return NULL;
	}
	*slot = c;
	c->pass = pass;
	c->facts = pass->facts;
	c->trace = pass->facts->trace;
	c->bin_ns = trace_ns(t, t->begin + t->length) / BINS + 1;
	c->positions = calloc(t->handles.n + 1, sizeof(*c->positions));
	c->sizes = calloc(FS_KINDS, sizeof(*c->sizes));
	return c->positions && c->sizes ? c : NULL;
}

void collector_free(struct collector *c)
{
	HASH_CLEAR(hh, c->io);
	HASH_CLEAR(hh, c->calls);
	lookups_free(c);
	free(c->positions);
	free(c->sizes);
	free(c->instances.v);
	free(c->spans.v);
	free(c->made.v);
	free(c->carried.v);
	free(c);
}

/* ---- before the pass ---- */

static enum trace_layer lowest_layer(const struct trace *t)
{
	enum trace_layer lowest = LAYER_ADIOS;

	for (size_t i = 0; i < t->paradigms.n; i++)
		if (t->paradigms.v[i].layer <= LAYER_POSIX && t->paradigms.v[i].layer > lowest)
			lowest = t->paradigms.v[i].layer;
	for (size_t i = 0; i < t->regions.n; i++)
		if (t->regions.v[i].layer == LAYER_POSIX)
			lowest = LAYER_POSIX;
	return lowest;
}

static uint8_t fs_of(struct facts *f, const char *type)
{
	if (!type)
		return FS_KINDS;
	for (uint8_t i = 0; i < FS_KINDS; i++) {
		if (!f->fs_names[i])
			f->fs_names[i] = type;
		if (!strcmp(f->fs_names[i], type))
			return i;
	}
	return FS_KINDS;
}

/* NULL where the archive has no layouts, or no collective calls: then nothing is looked for. */
static int facts_prepare_marks(struct facts *f)
{
	const struct trace *t = f->trace;
	bool layouts = false, calls = false;

	for (size_t i = 0; i < t->facts.n && !layouts; i++)
		layouts = trace_fact_is(&t->facts.v[i], ": Layout");
	for (size_t i = 0; i < t->regions.n && !calls; i++)
		calls = beside_is_collective(t->regions.v[i].name);
	f->chunked = layouts ? calloc(t->handles.n + 1, sizeof(*f->chunked)) : NULL;
	f->collective_region = calls ? calloc(t->regions.n + 1, sizeof(*f->collective_region)) : NULL;
	if ((layouts && !f->chunked) || (calls && !f->collective_region))
		return -ENOMEM;
	for (size_t i = 0; layouts && i < t->handles.n; i++) {
		const char *name = t->handles.v[i].name, *value;

		value = name && *name ? trace_fact_value(t, t->handles.v[i].file, "HDF5", name + (*name == '/'), "Layout") : NULL;
		f->chunked[i] = value && !strcmp(value, "chunked");
	}
	for (size_t i = 0; calls && i < t->regions.n; i++)
		f->collective_region[i] = beside_is_collective(t->regions.v[i].name);
	return 0;
}

static int facts_prepare(struct facts *f)
{
	const struct trace *t = f->trace;
	struct trace_attributes attributes;

	f->region_class = calloc(t->regions.n + 1, sizeof(*f->region_class));
	f->file_class = calloc(t->files.n + 1, sizeof(*f->file_class));
	f->file_fs = calloc(t->files.n + 1, 1);
	f->locations = calloc(t->locations.n + 1, sizeof(*f->locations));
	f->sizes = calloc(FS_KINDS, sizeof(*f->sizes));
	if (!f->region_class || !f->file_class || !f->file_fs || !f->locations || !f->sizes)
		return -ENOMEM;
	for (size_t i = 0; i < t->regions.n; i++)
		f->region_class[i] = classify_function(t->regions.v[i].name ? t->regions.v[i].name : "", t->regions.v[i].layer);
	for (size_t i = 0; i < t->files.n; i++) {
		f->file_class[i] = classify_file(&t->files.v[i]);
		if (f->filter.file && f->file_class[i] == FILE_DATA &&
		    (!t->files.v[i].name || fnmatch(f->filter.file, t->files.v[i].name, 0)))
			f->file_class[i] = FILE_EXCLUDED;
		f->file_fs[i] = f->file_class[i] == FILE_DATA ?
			fs_of(f, trace_mount_of(&t->files.v[i])->fs_type ?: "unknown") : FS_KINDS;
	}
	for (size_t i = 0; i < t->groups.n; i++)
		f->nranks += t->groups.v[i].rank >= 0;
	f->lowest = lowest_layer(t);
	trace_find_attributes(t, &attributes);
	f->has_offsets = attributes.offset != TRACE_NONE;
	f->has_errors = attributes.error != TRACE_NONE;
	f->has_cpu = attributes.cpu != TRACE_NONE;
	f->has_buffers = attributes.unaligned != TRACE_NONE;
	f->has_sites = t->sites.n || t->contexts.n;
	return facts_prepare_marks(f);
}

/* ---- after it ---- */

static int io_order(const void *a, const void *b)
{
	const struct io_stat *x = *(struct io_stat *const *)a, *y = *(struct io_stat *const *)b;

	if (x->key.file != y->key.file)
		return x->key.file < y->key.file ? -1 : 1;
	if (x->key.layer != y->key.layer)
		return x->key.layer < y->key.layer ? -1 : 1;
	return x->key.location < y->key.location ? -1 : x->key.location > y->key.location;
}

static int call_order(const void *a, const void *b)
{
	const struct call_stat *x = *(struct call_stat *const *)a, *y = *(struct call_stat *const *)b;

	return memcmp(&x->key, &y->key, sizeof(x->key));
}

static int instance_order(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

static void facts_add_sizes(struct facts *f, const struct collector *c)
{
	for (int fs = 0; fs < FS_KINDS; fs++)
		for (int d = 0; d < DIRS; d++)
			for (int b = 0; b < SIZE_BINS; b++) {
				struct size_times *to = &f->sizes[fs][d][b];
				const struct size_times *from = &c->sizes[fs][d][b];

				for (int i = 0; i < TIME_BINS; i++)
					to->n[i] += from->n[i];
				to->count += from->count;
				to->bytes += from->bytes;
				to->ns += from->ns;
			}
	for (int l = 0; l < LAYERS; l++)
		for (int d = 0; d < DIRS; d++)
			for (int b = 0; b < SIZE_BINS; b++)
				f->size_counts[l][d][b] += c->size_counts[l][d][b];
}

static int facts_take(struct facts *f, struct collector *c)
{
	struct io_stat *io, *next_io;
	struct call_stat *call, *next_call;

	HASH_ITER(hh, c->io, io, next_io) {
		struct io_stat **slot = TRACE_ADD(f->io);

		if (!slot)
			return -ENOMEM;
		*slot = io;
	}
	HASH_ITER(hh, c->calls, call, next_call) {
		struct call_stat **slot = TRACE_ADD(f->calls);

		if (!slot)
			return -ENOMEM;
		*slot = call;
	}
	for (size_t i = 0; i < c->instances.n; i++) {
		struct instance *slot = TRACE_ADD(f->instances);

		if (!slot)
			return -ENOMEM;
		*slot = c->instances.v[i];
	}
	for (size_t i = 0; i < c->spans.n; i++) {
		struct span *slot = TRACE_ADD(f->spans);

		if (!slot)
			return -ENOMEM;
		*slot = c->spans.v[i];
	}
	facts_add_sizes(f, c);
	return c->failed ? -ENOMEM : 0;
}

/* Positions that several locations moved cannot be replayed: each location saw only its own moves. */
static void mark_doubtful(struct facts *f, const _Atomic uint32_t *users)
{
	bool *shared = calloc(f->trace->files.n + 1, 1);

	for (size_t h = 0; shared && h < f->trace->handles.n; h++)
		if (users[h] == UINT32_MAX && f->trace->handles.v[h].file < f->trace->files.n)
			shared[f->trace->handles.v[h].file] = true;
	for (size_t i = 0; shared && i < f->io.n; i++)
		if (f->io.v[i]->key.file < f->trace->files.n && shared[f->io.v[i]->key.file])
			f->io.v[i]->dir[DIR_READ].doubtful = f->io.v[i]->dir[DIR_WRITE].doubtful = true;
	free(shared);
}

static void count_trace(struct facts *f)
{
	const struct trace *t = f->trace;

	f->wall_ns = trace_ns(t, t->begin + t->length);
	for (size_t i = 0; i < t->groups.n; i++) {
		f->has_wall |= t->groups.v[i].wall_ns > 0;
	}
	for (size_t i = 0; i < t->nodes.n; i++)
		f->nnodes += t->nodes.v[i].class && !strcmp(t->nodes.v[i].class, "node");
	for (size_t i = 0; i < t->locations.n; i++)
		f->damaged += t->locations.v[i].damaged || !t->locations.v[i].read;
	for (size_t i = 0; i < f->io.n; i++)
		for (int d = 0; d < DIRS && f->io.v[i]->key.layer == f->lowest && f->io.v[i]->key.file != TRACE_NONE; d++) {
			const struct dir_stat *s = &f->io.v[i]->dir[d];

			if (f->file_class[f->io.v[i]->key.file] != FILE_DATA)
				continue;
			f->offsets_known += s->positioned;
			f->offsets_unknown += s->n - s->positioned;
		}
}

static int facts_gather(struct pass *pass)
{
	struct facts *f = pass->facts;
	int ret = carried_join(pass->collectors.v, pass->collectors.n);

	for (size_t i = 0; i < pass->collectors.n && !ret; i++)
		ret = facts_take(f, pass->collectors.v[i]);
	if (ret)
		return ret;
	if (f->io.n)            /* qsort(3) must not get NULL */
		qsort(f->io.v, f->io.n, sizeof(*f->io.v), io_order);
	if (f->calls.n)
		qsort(f->calls.v, f->calls.n, sizeof(*f->calls.v), call_order);
	if (f->instances.n)
		qsort(f->instances.v, f->instances.n, sizeof(*f->instances.v), instance_order);
	if (f->spans.n)
		qsort(f->spans.v, f->spans.n, sizeof(*f->spans.v), beside_span_order);
	f->merged_files = pass->shared.merged;
	f->dropped_instances = pass->shared.dropped;
	mark_doubtful(f, pass->handle_user);
	count_trace(f);
	return 0;
}

/* ---- several processes ---- */

/* After an error nothing is sent, but the first peer does not wait in vain. */
static int send_pass(const struct pass *pass, const struct peers *peers, int ret)
{
	void *data = NULL;
	size_t n = 0;
	int sent;

	if (!ret)
		ret = peers_pack(pass, &data, &n);
	sent = peers->send(peers, data, ret ? 0 : n);
	free(data);
	return sent ? sent : ret;
}

/* Receives all, also after an error: the others wait until their results are taken. */
static int receive_passes(struct pass *pass, const struct peers *peers, int ret)
{
	for (unsigned from = 1; from < peers->n; from++) {
		void *data = NULL;
		size_t n = 0;
		int got = peers->receive(peers, from, &data, &n);

		if (!got && !ret)
			got = peers_unpack(pass, data, n);
		ret = ret ? ret : got;
		free(data);
	}
	return ret;
}

/* ---- the pass ---- */

static int pass_begin(struct pass *pass, unsigned nworkers, const struct peers *peers)
{
	const struct trace *t = pass->facts->trace;

	pass->handle_user = calloc(t->handles.n + 1, sizeof(*pass->handle_user));
	if (!pass->handle_user || facts_prepare(pass->facts))
		return -ENOMEM;
	for (unsigned i = 0; i < nworkers; i++)
		if (!collector_new(pass))
			return -ENOMEM;
	if (!peers)
		return 0;
	pass->index = peers->index;
	pass->owner = peers_share(t, peers->n);
	return pass->owner ? 0 : -ENOMEM;
}

static int pass_read(struct pass *pass, unsigned nworkers, const struct peers *peers, char *err, size_t err_len)
{
	int ret = pass_begin(pass, nworkers, peers);

	if (ret)
		snprintf(err, err_len, "%.200s: out of memory", pass->facts->trace->dir);
	else
		ret = trace_read(pass->facts->trace, &collect_visitor, (void **)pass->collectors.v, nworkers, err, err_len);
	if (peers)
		ret = peers->agree(peers, ret, err);
	return ret;
}

static int pass_end(struct pass *pass, const struct peers *peers, char *err, size_t err_len)
{
	int ret = 0;

	for (size_t i = 0; i < pass->collectors.n && !ret; i++)
		ret = lookups_take(pass->collectors.v[i]);
	if (peers)
		ret = peers->index ? send_pass(pass, peers, ret) : receive_passes(pass, peers, ret);
	if (!ret && !pass->index)
		ret = facts_gather(pass);
	if (ret)
		snprintf(err, err_len, "%.200s: %s", pass->facts->trace->dir,
			 ret == -ENOMEM ? "out of memory" :
			 "the results of another process are of another version of ioprobe or of another archive");
	return ret;
}

int facts_read(struct facts *f, struct trace *trace, const struct facts_filter *filter, unsigned nworkers,
	       const struct peers *peers, char *err, size_t err_len)
{
	struct pass pass = { .facts = f };
	int ret;

	memset(f, 0, sizeof(*f));
	f->trace = trace;
	f->filter = *filter;
	ret = pass_read(&pass, nworkers, peers, err, err_len);
	if (!ret)
		ret = pass_end(&pass, peers, err, err_len);
	for (size_t i = 0; i < pass.collectors.n; i++)
		collector_free(pass.collectors.v[i]);
	free(pass.collectors.v);
	free(pass.handle_user);
	free((void *)pass.owner);
	return ret;
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->io.n; i++) {
		extents_free(f->io.v[i]->dir[DIR_READ].extents);
		extents_free(f->io.v[i]->dir[DIR_WRITE].extents);
		extents_free(f->io.v[i]->filled);
		free(f->io.v[i]);
	}
	for (size_t i = 0; i < f->calls.n; i++) {
		free(f->calls.v[i]->series);
		free(f->calls.v[i]);
	}
	free(f->io.v);
	free(f->calls.v);
	free(f->instances.v);
	free(f->spans.v);
	free(f->chunked);
	free(f->collective_region);
	free(f->region_class);
	free(f->file_class);
	free(f->file_fs);
	for (size_t i = 0; f->locations && i < f->trace->locations.n; i++)
		free(f->locations[i].missed_in);
	free(f->locations);
	free(f->sizes);
	memset(f, 0, sizeof(*f));
}
