/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counts calls, bytes and time per process and layer, and per process and handle, as events arrive.
 */
#include "sink/summary/summary_internal.h"

#include <errno.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

/* Apart from what is done for each event: inlined, they would slow that down. */
static struct use *use_lookup(struct summary_sink *s, uint64_t key) __attribute__((noinline));
static struct summary_counts *variable_lookup(struct summary_sink *s, uint64_t key) __attribute__((noinline));
static int pending_add(struct summary_sink *s, const struct operation *op) __attribute__((noinline));
static bool pending_take(struct summary_sink *s, uint64_t id, struct operation *op) __attribute__((noinline));

/* ---- growing arrays ---- */

static int summary_count_enlarge(void *array, size_t *n, size_t index, size_t size, int fill)
{
	void **base = array;
	size_t wanted = *n ? *n : 64;
	void *p;

	while (wanted <= index)
		wanted *= 2;
	p = realloc(*base, wanted * size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *n * size, fill, (wanted - *n) * size);
	*base = p;
	*n = wanted;
	return 0;
}

/* Makes room for index; new elements are initialised with fill. Called for each event: most often there is room. */
static inline int summary_count_grow(void *array, size_t *n, size_t index, size_t size, int fill)
{
	return index < *n ? 0 : summary_count_enlarge(array, n, index, size, fill);
}

static inline int summary_count_grow32(void *array, uint32_t *n, size_t index, size_t size)
{
	size_t count = *n;
	int error = index < count ? 0 : summary_count_enlarge(array, &count, index, size, 0);

	*n = count;
	return error;
}

/* Not a reason to end a replay: the archive is more important than this table. Counted and shown. */
static int summary_count_unmatched(struct summary_sink *s)
{
	s->unmatched++;
	return 0;
}

/* ---- layers ---- */

uint32_t summary_layer_by_name(struct summary_sink *s, const char *name)
{
	for (uint32_t i = 0; i < s->nlayers; i++)
		if (!strcmp(s->layers[i].name, name))
			return i;
	if (summary_count_grow32(&s->layers, &s->cap_layers, s->nlayers, sizeof(*s->layers)))
		return REF_NONE;
	s->layers[s->nlayers] = (struct summary_layer){ .name = name, .index = s->nlayers };
	return s->nlayers++;
}

static int layer_of_region(struct summary_sink *s, const struct model *model, uint32_t region, uint32_t *layer)
{
	int error;

	if (region >= model->regions.n)
		return -EINVAL;
	error = summary_count_grow(&s->region_layer, &s->nregions, region, sizeof(*s->region_layer), 0xff);
	if (error)
		return error;
	if (s->region_layer[region] == REF_NONE)
		s->region_layer[region] = summary_layer_by_name(s, model->regions.v[region].paradigm);
	*layer = s->region_layer[region];
	if (*layer == REF_NONE)
		return -ENOMEM;
	for (size_t i = 0; !s->layers[*layer].calls && i < model->paradigms.n; i++)
		if (!strcmp(model->paradigms.v[i].identification, s->layers[*layer].name))
			s->layers[*layer].os = model->paradigms.v[i].os;
	s->layers[*layer].calls = 1;    /* marks it as used; calls are counted by process and added up at the end */
	return 0;
}

struct summary_layer *summary_layer_in_group(struct summary_sink *s, uint32_t group, uint32_t layer)
{
	struct group_state *g;

	if (summary_count_grow(&s->groups, &s->ngroups, group, sizeof(*s->groups), 0))
		return NULL;
	g = &s->groups[group];
	while (layer >= g->nlayers) {
		struct summary_layer *grown = reallocarray(g->layers, s->nlayers, sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + g->nlayers, 0, (s->nlayers - g->nlayers) * sizeof(*grown));
		g->layers = grown;
		g->nlayers = s->nlayers;
	}
	return &g->layers[layer];
}

/* ---- handles ---- */

static struct use *use_lookup(struct summary_sink *s, uint64_t key)
{
	struct use *use;

	HASH_FIND(hh, s->uses, &key, sizeof(key), use);
	if (use)
		return use;
	use = pool_take(&s->use_pool);
	if (!use)
		return NULL;
	use->key = key;
	HASH_ADD(hh, s->uses, key, sizeof(use->key), use);
	if (hash_added(use))
		return use;
	pool_give_back(&s->use_pool, use);
	return NULL;
}

static struct use *use_get(struct summary_sink *s, uint32_t handle, uint32_t group)
{
	uint64_t key = (uint64_t)handle << 32 | group;
	struct use *use;

	if (summary_count_grow(&s->last_use, &s->nlast_use, handle, sizeof(*s->last_use), 0))
		return NULL;
	use = s->last_use[handle];
	if (!use || use->key != key)
		use = use_lookup(s, key);
	if (!use)
		return NULL;
	s->last_use[handle] = use;
	return summary_use_changed(s, use) ? NULL : use;
}

void summary_use_free(struct summary_sink *s, struct use *use)
{
	summary_classes_clear(&use->classes);
	pool_give_back(&s->changes_pool, use->changes);
	pool_give_back(&s->use_pool, use);
}

/* Returns the use of a handle by the location's process, and assigns it to the innermost open call unless that is known to be on
 * another handle. */
static struct use *use_here(struct summary_sink *s, const struct model *model, uint32_t location, uint32_t handle)
{
	struct location_state *l = &s->locations[location];
	struct use *use;

	if (handle >= model->handles.n || model->handles.v[handle].paradigm >= model->paradigms.n)
		return NULL;
	use = use_get(s, handle, model->locations.v[location].group);
	if (use && l->nframes && !l->frames[l->nframes - 1].use)
		l->frames[l->nframes - 1].use = use;
	return use;
}

static int error_of(const struct model *model, uint32_t handle)
{
	return handle >= model->handles.n || model->handles.v[handle].paradigm >= model->paradigms.n ? -EINVAL : -ENOMEM;
}

static int summary_count_count_handle(struct summary_sink *s, const struct model *model, uint32_t location, uint32_t handle,
				      bool opens)
{
	struct use *use = use_here(s, model, location, handle);

	if (!use)
		return error_of(model, handle);
	use->counts.opens += opens;
	return 0;
}

/* ---- calls ---- */

static int count_enter(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct summary_layer *own;
	uint32_t layer;
	int error = layer_of_region(s, model, e->u.call.region, &layer);

	if (!error)
		error = summary_count_grow32(&l->frames, &l->cap_frames, l->nframes, sizeof(*l->frames));
	if (error)
		return error;
	own = summary_layer_in_group(s, model->locations.v[e->location].group, layer);
	if (!own)
		return -ENOMEM;
	own->calls++;
	own->classes[model->regions.v[e->u.call.region].class].calls++;
	l->frames[l->nframes++] = (struct frame){ .region = e->u.call.region,
						  .class = model->regions.v[e->u.call.region].class,
						  .enter_ns = e->time_ns };
	summary_costs_enter(s, l, layer);
	if (model->regions.v[e->u.call.region].io && !l->io_frames++)
		l->io_since_ns = e->time_ns;
	return 0;
}

bool summary_is_outermost(const struct summary_sink *s, const struct location_state *l, uint32_t frame, uint32_t layer)
{
	for (uint32_t i = 0; i < frame; i++)
		if (s->region_layer[l->frames[i].region] == layer)
			return false;
	return true;
}

bool summary_is_outermost_use(const struct summary_sink *s, const struct location_state *l, uint32_t frame, uint32_t layer)
{
	for (uint32_t i = 0; i < frame; i++)
		if (l->frames[i].use && s->region_layer[l->frames[i].region] == layer)
			return false;
	return true;
}

/* Operations that the call began and that did not end in it: what they moved is not known. */
static int forget_operations(struct summary_sink *s, struct location_state *l);

static uint64_t summary_count_greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int count_use_time(const struct summary_sink *s, const struct model *model, const struct location_state *l,
			  const struct frame *frame, uint32_t layer, uint64_t time_ns, bool failed)
{
	struct use *use = frame->use;
	struct summary_class *class = summary_class_of(&use->classes, frame->class);

	if (!class)
		return -ENOMEM;
	class->calls++;
	class->failed += failed;
	class->longest_ns = summary_count_greater(class->longest_ns, time_ns);
	use->longest_ns = summary_count_greater(use->longest_ns, time_ns);
	if (!summary_is_outermost_use(s, l, l->nframes, layer))
		return 0;
	class->time_ns += time_ns;
	use->counts.time_ns += time_ns;
	use->counts.metadata_ns += model->regions.v[frame->region].metadata ? time_ns : 0;
	return 0;
}

/* fcntl becomes a lock. Its calls so far were not reported if its time was not. */
static int count_lock(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct frame *frame = l->nframes ? &l->frames[l->nframes - 1] : NULL;
	struct summary_layer *own;

	if (!use_here(s, model, e->location, e->u.lock.handle))
		return error_of(model, e->u.lock.handle);
	if (!frame || frame->shared || frame->class == MODEL_CLASS_LOCK)
		return 0;
	own = summary_layer_in_group(s, model->locations.v[e->location].group, s->region_layer[frame->region]);
	if (!own)
		return -ENOMEM;
	own->classes[frame->class].calls--;
	own->classes[MODEL_CLASS_LOCK].calls++;
	frame->class = MODEL_CLASS_LOCK;
	return 0;
}

static int count_leave(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct summary_layer *own;
	struct summary_class *class;
	const struct frame *frame;
	uint64_t time_ns, system_ns;
	uint32_t layer;

	if (!l->nframes || l->frames[l->nframes - 1].region != e->u.call.region)
		return summary_count_unmatched(s);
	frame = &l->frames[--l->nframes];
	layer = s->region_layer[frame->region];
	own = summary_layer_in_group(s, model->locations.v[e->location].group, layer);
	time_ns = e->time_ns - frame->enter_ns;
	system_ns = s->layers[layer].os ? time_ns : frame->system_ns;
	own->failed += e->u.call.failed;
	class = &own->classes[frame->class];
	class->failed += e->u.call.failed;
	class->longest_ns = summary_count_greater(class->longest_ns, time_ns);
	if (e->u.call.names.path && s->layers[layer].os && !s->changes &&
	    summary_names_add(&s->names, model, &e->u.call.names, e->u.call.failed))
		return -ENOMEM;
	if (l->nframes)
		l->frames[l->nframes - 1].system_ns += system_ns;
	else if (model->cpu_time && (e->u.call.cpu || model->regions.v[frame->region].io))
		summary_cpu_count(l, &own->cpu, &s->groups[model->locations.v[e->location].group].between, e, frame->enter_ns);
	if (summary_is_outermost(s, l, l->nframes, layer)) {
		own->time_ns += time_ns;
		own->system_ns += system_ns;
		class->time_ns += time_ns;
	}
	own->longest_ns = summary_count_greater(own->longest_ns, time_ns);
	if (frame->use && count_use_time(s, model, l, frame, layer, time_ns, e->u.call.failed))
		return -ENOMEM;
	if (model->regions.v[frame->region].io && !--l->io_frames)
		l->io_ns += e->time_ns - l->io_since_ns;
	return summary_call_ended(s, model, e->location, time_ns) ?: forget_operations(s, l);
}

/* ---- operations ---- */

static struct summary_counts *variable_lookup(struct summary_sink *s, uint64_t key)
{
	struct summary_variable *v;

	HASH_FIND(hh, s->variables, &key, sizeof(key), v);
	if (v)
		return &v->counts;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->key = key;
	HASH_ADD(hh, s->variables, key, sizeof(v->key), v);
	if (v->hh.tbl)
		return &v->counts;
	free(v);
	return NULL;
}

/* Returns the counts of a variable; operations on no variable are counted in a dummy that is never read. */
static struct summary_counts *variable_counts(struct summary_sink *s, uint32_t handle, uint32_t variable)
{
	return !variable || s->changes ? &s->no_variable : variable_lookup(s, (uint64_t)handle << 32 | variable);
}

enum end { END_KNOWN, END_UNKNOWN, END_FAILED };

static void count_in(struct summary_counts *c, uint8_t mode, enum end end, uint64_t bytes)
{
	if (mode == OTF2_IO_OPERATION_MODE_READ) {
		c->bytes_read += end == END_KNOWN ? bytes : 0;
		c->known_reads += end == END_KNOWN;
		c->unknown_reads += end == END_UNKNOWN;
		c->failed_reads += end == END_FAILED;
	} else if (mode == OTF2_IO_OPERATION_MODE_WRITE) {
		c->bytes_written += end == END_KNOWN ? bytes : 0;
		c->known_writes += end == END_KNOWN;
		c->unknown_writes += end == END_UNKNOWN;
		c->failed_writes += end == END_FAILED;
	}
}

static int count_size(struct summary_sink *s, const struct model *model, const struct operation *op, uint64_t bytes)
{
	uint32_t paradigm = model->handles.v[op->handle].paradigm;
	struct summary_layer *own;
	unsigned size = summary_size_class(bytes);

	if (summary_count_grow(&s->paradigm_layer, &s->nparadigms, paradigm, sizeof(*s->paradigm_layer), 0xff))
		return -ENOMEM;
	if (s->paradigm_layer[paradigm] == REF_NONE)
		s->paradigm_layer[paradigm] = summary_layer_by_name(s, model->paradigms.v[paradigm].identification);
	own = s->paradigm_layer[paradigm] != REF_NONE ?
		summary_layer_in_group(s, (uint32_t)op->use->key, s->paradigm_layer[paradigm]) : NULL;
	if (!own)
		return -ENOMEM;
	own->sizes.read[size] += op->mode == OTF2_IO_OPERATION_MODE_READ;
	own->sizes.written[size] += op->mode == OTF2_IO_OPERATION_MODE_WRITE;
	if (op->mode == OTF2_IO_OPERATION_MODE_READ || op->mode == OTF2_IO_OPERATION_MODE_WRITE)
		summary_use_sized(op->use, op->mode == OTF2_IO_OPERATION_MODE_WRITE, size);
	return 0;
}

static int count_end(struct summary_sink *s, const struct model *model, const struct operation *op, enum end end, uint64_t bytes)
{
	struct summary_counts *variable = variable_counts(s, op->handle, op->variable);

	if (!variable)
		return -ENOMEM;
	count_in(&op->use->counts, op->mode, end, bytes);
	count_in(variable, op->mode, end, bytes);
	return summary_use_changed(s, op->use) ?: end == END_KNOWN ? count_size(s, model, op, bytes) : 0;
}

static int forget_operations(struct summary_sink *s, struct location_state *l)
{
	int ret = 0;

	for (; l->nblocking && l->blocking[l->nblocking - 1].depth > l->nframes && !ret; l->nblocking--) {
		const struct operation *op = &l->blocking[l->nblocking - 1].op;

		count_in(&op->use->counts, op->mode, END_UNKNOWN, 0);
		ret = summary_use_changed(s, op->use);
	}
	return ret;
}

static int pending_add(struct summary_sink *s, const struct operation *op)
{
	struct pending *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct pending){ .op = *op };
	HASH_ADD(hh, s->pending, op.id, sizeof(p->op.id), p);
	if (p->hh.tbl)
		return 0;
	free(p);
	return -ENOMEM;
}

static bool pending_take(struct summary_sink *s, uint64_t id, struct operation *op)
{
	struct pending *p;

	HASH_FIND(hh, s->pending, &id, sizeof(id), p);
	if (!p)
		return false;
	*op = p->op;
	HASH_DEL(s->pending, p);
	free(p);
	return true;
}

/* Removes the operation that completes here; returns false if its begin was not observed. */
static bool operation_take(struct summary_sink *s, struct location_state *l, uint64_t id, struct operation *op)
{
	for (uint32_t i = l->nblocking; i-- > 0;)
		if (l->blocking[i].op.id == id) {
			*op = l->blocking[i].op;
			memmove(&l->blocking[i], &l->blocking[i + 1], (--l->nblocking - i) * sizeof(*l->blocking));
			return true;
		}
	return pending_take(s, id, op);
}

static int count_begin(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct operation op = { e->u.begin.matching_id, use_here(s, model, e->location, e->u.begin.handle), e->u.begin.handle,
				e->u.begin.variable, e->u.begin.mode };
	struct summary_counts *counts[] = { op.use ? &op.use->counts : NULL, variable_counts(s, op.handle, op.variable) };
	int error;

	if (!counts[0] || !counts[1])
		return error_of(model, e->u.begin.handle);
	for (int i = 0; i < 2; i++) {
		counts[i]->reads += op.mode == OTF2_IO_OPERATION_MODE_READ;
		counts[i]->writes += op.mode == OTF2_IO_OPERATION_MODE_WRITE;
	}
	if (e->u.begin.flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING)
		return pending_add(s, &op);
	error = summary_count_grow32(&l->blocking, &l->cap_blocking, l->nblocking, sizeof(*l->blocking));
	if (!error)
		l->blocking[l->nblocking++] = (struct blocking){ op, l->nframes };
	return error;
}

static int count_complete(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct operation op;

	if (!operation_take(s, l, e->u.complete.matching_id, &op))
		return summary_count_unmatched(s);
	if (l->nframes && !l->frames[l->nframes - 1].use)
		l->frames[l->nframes - 1].use = op.use;         /* a call that waited for it */
	if (e->u.complete.bytes != BYTES_UNKNOWN)
		return count_end(s, model, &op, END_KNOWN, e->u.complete.bytes);
	return count_end(s, model, &op, e->u.complete.failed ? END_FAILED : END_UNKNOWN, 0);
}

static int count_cancelled(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct operation op;

	return operation_take(s, l, e->u.op.matching_id, &op) ? count_end(s, model, &op, END_FAILED, 0)
							      : summary_count_unmatched(s);
}

int summary_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct location_state *l;

	if (e->location >= model->locations.n)
		return -EINVAL;
	if (summary_count_grow(&s->locations, &s->nlocations, e->location, sizeof(*s->locations), 0))
		return -ENOMEM;
	if (!s->changes && summary_sites_event(&s->sites, model, e))
		return -ENOMEM;
	l = &s->locations[e->location];
	l->seen = true;
	switch (e->type) {
	case EV_ENTER: return count_enter(s, model, l, e);
	case EV_LEAVE: return count_leave(s, model, l, e);
	case EV_CREATE: return summary_count_count_handle(s, model, e->location, e->u.create.handle, true);
	case EV_DESTROY: return summary_count_count_handle(s, model, e->location, e->u.destroy.handle, false);
	case EV_SEEK: return summary_count_count_handle(s, model, e->location, e->u.seek.handle, false);
	case EV_LOCK:
	case EV_UNLOCK:
	case EV_TRYLOCK: return count_lock(s, model, l, e);
	case EV_BEGIN: return count_begin(s, model, l, e);
	case EV_COMPLETE: return count_complete(s, model, l, e);
	case EV_CANCELLED: return count_cancelled(s, model, l, e);
	default: return 0;
	}
}

/* ---- the end ---- */

int summary_count_open(struct summary_sink *s, const struct model *model, struct summary_report *report)
{
	int error = 0;

	for (const struct pending *p = s->pending; p && !error; p = p->hh.next) {
		error = count_end(s, model, &p->op, END_UNKNOWN, 0);
		report->open_operations++;
	}
	for (size_t l = 0; l < s->nlocations; l++)
		for (uint32_t i = 0; i < s->locations[l].nblocking && !error; i++)
			error = count_end(s, model, &s->locations[l].blocking[i].op, END_UNKNOWN, 0);
	return error;
}
