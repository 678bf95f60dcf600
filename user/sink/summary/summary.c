/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counts calls, bytes and time per layer and per handle while events pass, and condenses them at the end. A handle's file may be
 * found late: files are added up then only.
 */
#include "sink/summary/summary.h"

#include <errno.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include "sink/summary/summary_report.h"

/* system_ns: of the calls inside that have ended */
struct frame { uint32_t region; uint64_t enter_ns, system_ns; };

/* A blocking operation ends in the call that began it: those are kept by location, the others in a table. */
struct blocking { uint64_t id; uint32_t depth, variable; uint8_t mode; };
struct pending { uint64_t id; uint32_t handle, variable; uint8_t mode; UT_hash_handle hh; };

struct location_state {
	struct frame *frames;
	struct blocking *blocking;
	uint32_t nframes, cap_frames, nblocking, cap_blocking;
	bool seen;
};

struct summary_sink {
	struct sink sink;               /* first: the public face */
	FILE *out, *also_json;          /* also_json: NULL if not wanted */
	bool json;
	struct summary_layer *layers;
	uint32_t nlayers, cap_layers;
	uint32_t *region_layer;         /* model region -> layer, REF_NONE if not looked up yet */
	size_t nregions;
	struct location_state *locations;
	size_t nlocations;
	struct summary_counts *handles;
	size_t nhandles;
	struct summary_variable *variables;
	struct summary_counts no_variable;
	struct pending *pending;
	uint64_t unmatched;             /* leaves without their enter, ends of operations without a begin */
};

/* ---- growing arrays ---- */

/* Makes room for index; new elements are filled with fill. */
static int grow(void *array, size_t *n, size_t index, size_t size, int fill)
{
	void **base = array;
	size_t wanted = *n ? *n : 64;
	void *p;

	if (index < *n)
		return 0;
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

static int grow32(void *array, uint32_t *n, size_t index, size_t size)
{
	size_t count = *n;
	int error = grow(array, &count, index, size, 0);

	*n = count;
	return error;
}

/* Not a reason to end a replay: the archive is worth more than this table. Counted, and shown. */
static int unmatched(struct summary_sink *s)
{
	s->unmatched++;
	return 0;
}

/* ---- layers ---- */

/* The layer of this name, made if it is new; REF_NONE if out of memory. */
static uint32_t layer_by_name(struct summary_sink *s, const char *name)
{
	for (uint32_t i = 0; i < s->nlayers; i++)
		if (!strcmp(s->layers[i].name, name))
			return i;
	if (grow32(&s->layers, &s->cap_layers, s->nlayers, sizeof(*s->layers)))
		return REF_NONE;
	s->layers[s->nlayers] = (struct summary_layer){ .name = name };
	return s->nlayers++;
}

static int layer_of_region(struct summary_sink *s, const struct model *model, uint32_t region, uint32_t *layer)
{
	int error;

	if (region >= model->regions.n)
		return -EINVAL;
	error = grow(&s->region_layer, &s->nregions, region, sizeof(*s->region_layer), 0xff);
	if (error)
		return error;
	if (s->region_layer[region] == REF_NONE)
		s->region_layer[region] = layer_by_name(s, model->regions.v[region].paradigm);
	*layer = s->region_layer[region];
	if (*layer == REF_NONE)
		return -ENOMEM;
	for (size_t i = 0; !s->layers[*layer].calls && i < model->paradigms.n; i++)
		if (!strcmp(model->paradigms.v[i].identification, s->layers[*layer].name))
			s->layers[*layer].os = model->paradigms.v[i].os;
	return 0;
}

/* ---- calls ---- */

static int count_enter(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	uint32_t layer;
	int error = layer_of_region(s, model, e->u.call.region, &layer);

	if (!error)
		error = grow32(&l->frames, &l->cap_frames, l->nframes, sizeof(*l->frames));
	if (error)
		return error;
	s->layers[layer].calls++;
	l->frames[l->nframes++] = (struct frame){ e->u.call.region, e->time_ns, 0 };
	return 0;
}

static bool is_outermost(const struct summary_sink *s, const struct location_state *l, uint32_t layer)
{
	for (uint32_t i = 0; i < l->nframes; i++)
		if (s->region_layer[l->frames[i].region] == layer)
			return false;
	return true;
}

static int count_leave(struct summary_sink *s, struct location_state *l, const struct model_event *e)
{
	const struct frame *frame;
	uint64_t time_ns, system_ns;
	uint32_t layer;

	if (!l->nframes || l->frames[l->nframes - 1].region != e->u.call.region)
		return unmatched(s);
	frame = &l->frames[--l->nframes];
	layer = s->region_layer[frame->region];
	time_ns = e->time_ns - frame->enter_ns;
	system_ns = s->layers[layer].os ? time_ns : frame->system_ns;
	s->layers[layer].failed += e->u.call.failed;
	if (l->nframes)
		l->frames[l->nframes - 1].system_ns += system_ns;
	if (is_outermost(s, l, layer)) {
		s->layers[layer].time_ns += time_ns;
		s->layers[layer].system_ns += system_ns;
	}
	while (l->nblocking && l->blocking[l->nblocking - 1].depth > l->nframes)
		l->nblocking--;
	return 0;
}

/* ---- operations ---- */

#define COUNTERS 3

/* Those of a variable; a place where nobody looks for an operation on none. */
static struct summary_counts *variable_counts(struct summary_sink *s, uint32_t handle, uint32_t variable)
{
	uint64_t key = (uint64_t)handle << 32 | variable;
	struct summary_variable *v;

	if (!variable)
		return &s->no_variable;
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

/* The counters of a handle, of its layer, and of the variable. */
static int counts_of(struct summary_sink *s, const struct model *model, uint32_t handle, uint32_t variable,
		     struct summary_counts *counts[COUNTERS])
{
	uint32_t layer;
	int error;

	if (handle >= model->handles.n || model->handles.v[handle].paradigm >= model->paradigms.n)
		return -EINVAL;
	error = grow(&s->handles, &s->nhandles, handle, sizeof(*s->handles), 0);
	if (error)
		return error;
	layer = layer_by_name(s, model->paradigms.v[model->handles.v[handle].paradigm].identification);
	if (layer == REF_NONE)
		return -ENOMEM;
	counts[0] = &s->handles[handle];
	counts[1] = &s->layers[layer].counts;
	counts[2] = variable_counts(s, handle, variable);
	return counts[2] ? 0 : -ENOMEM;
}

static int pending_add(struct summary_sink *s, uint64_t id, uint32_t handle, uint32_t variable, uint8_t mode)
{
	struct pending *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct pending){ .id = id, .handle = handle, .variable = variable, .mode = mode };
	HASH_ADD(hh, s->pending, id, sizeof(p->id), p);
	if (p->hh.tbl)
		return 0;
	free(p);
	return -ENOMEM;
}

/* The mode and the variable of an operation that ends here, -1 if its begin was not seen. */
static int operation_end(struct summary_sink *s, struct location_state *l, uint64_t id, uint32_t *variable)
{
	struct pending *p;
	int mode;

	for (uint32_t i = l->nblocking; i-- > 0;)
		if (l->blocking[i].id == id) {
			mode = l->blocking[i].mode;
			*variable = l->blocking[i].variable;
			memmove(&l->blocking[i], &l->blocking[i + 1], (--l->nblocking - i) * sizeof(*l->blocking));
			return mode;
		}
	HASH_FIND(hh, s->pending, &id, sizeof(id), p);
	if (!p)
		return -1;
	mode = p->mode;
	*variable = p->variable;
	HASH_DEL(s->pending, p);
	free(p);
	return mode;
}

static int count_begin(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	struct summary_counts *counts[COUNTERS];
	int error = counts_of(s, model, e->u.begin.handle, e->u.begin.variable, counts);

	if (error)
		return error;
	for (int i = 0; i < COUNTERS; i++) {
		counts[i]->reads += e->u.begin.mode == OTF2_IO_OPERATION_MODE_READ;
		counts[i]->writes += e->u.begin.mode == OTF2_IO_OPERATION_MODE_WRITE;
	}
	if (e->u.begin.flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING)
		return pending_add(s, e->u.begin.matching_id, e->u.begin.handle, e->u.begin.variable, e->u.begin.mode);
	error = grow32(&l->blocking, &l->cap_blocking, l->nblocking, sizeof(*l->blocking));
	if (!error)
		l->blocking[l->nblocking++] = (struct blocking){ e->u.begin.matching_id, l->nframes, e->u.begin.variable,
								 e->u.begin.mode };
	return error;
}

static void count_bytes(struct summary_counts *counts, int mode, uint64_t bytes)
{
	bool known = bytes != BYTES_UNKNOWN;

	if (mode == OTF2_IO_OPERATION_MODE_READ) {
		counts->bytes_read += known ? bytes : 0;
		counts->known_reads += known;
		counts->unknown_reads += !known;
	} else if (mode == OTF2_IO_OPERATION_MODE_WRITE) {
		counts->bytes_written += known ? bytes : 0;
		counts->known_writes += known;
		counts->unknown_writes += !known;
	}
}

static int count_complete(struct summary_sink *s, const struct model *model, struct location_state *l, const struct model_event *e)
{
	uint32_t variable;
	int mode = operation_end(s, l, e->u.complete.matching_id, &variable);
	struct summary_counts *counts[COUNTERS];
	int error;

	if (mode < 0)
		return unmatched(s);
	if (e->u.complete.bytes == BYTES_UNKNOWN && e->u.complete.failed)
		return 0;
	error = counts_of(s, model, e->u.complete.handle, variable, counts);
	for (int i = 0; i < COUNTERS && !error; i++)
		count_bytes(counts[i], mode, e->u.complete.bytes);
	return error;
}

/* What began and was not seen to end. */
static int count_pending(struct summary_sink *s, const struct model *model, struct summary_report *report)
{
	struct summary_counts *counts[COUNTERS];
	int error = 0;

	for (const struct pending *p = s->pending; p && !error; p = p->hh.next) {
		error = counts_of(s, model, p->handle, p->variable, counts);
		for (int i = 0; i < COUNTERS && !error; i++)
			count_bytes(counts[i], p->mode, BYTES_UNKNOWN);
		report->open_operations++;
	}
	return error;
}

static int summary_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct location_state *l;
	uint32_t variable;

	if (e->location >= model->locations.n)
		return -EINVAL;
	if (grow(&s->locations, &s->nlocations, e->location, sizeof(*s->locations), 0))
		return -ENOMEM;
	l = &s->locations[e->location];
	l->seen = true;
	switch (e->type) {
	case EV_ENTER: return count_enter(s, model, l, e);
	case EV_LEAVE: return count_leave(s, l, e);
	case EV_BEGIN: return count_begin(s, model, l, e);
	case EV_COMPLETE: return count_complete(s, model, l, e);
	case EV_CANCELLED: return operation_end(s, l, e->u.op.matching_id, &variable) < 0 ? unmatched(s) : 0;
	default: return 0;
	}
}

/* What the report needs of it stays. */
static int summary_location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct location_state *l = location < s->nlocations ? &s->locations[location] : NULL;

	(void)model;
	if (!l || l->nframes || l->nblocking)
		return 0;
	free(l->frames);
	free(l->blocking);
	*l = (struct location_state){ .seen = l->seen };
	return 0;
}

/* ---- the end ---- */

static int count_members(const struct summary_sink *s, struct summary_report *r)
{
	const struct model *m = r->model;
	bool *groups = calloc(m->groups.n + 1, sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < m->locations.n; i++) {
		bool seen = i < s->nlocations && s->locations[i].seen;

		if (seen)
			r->open_calls += s->locations[i].nframes;
		if (!seen && !m->locations.v[i].used)
			continue;
		r->threads++;
		if (m->locations.v[i].group < m->groups.n)
			groups[m->locations.v[i].group] = true;
	}
	for (size_t g = 0; g < m->groups.n; g++) {
		r->processes += groups[g];
		r->ranks += groups[g] && m->groups.v[g].rank >= 0;
	}
	free(groups);
	return 0;
}

/* From top to bottom of the stack; what others add stands between netCDF's libraries and HDF5. */
static int place_of(const char *name)
{
	static const char *const above[] = { "netCDF", "PnetCDF" };
	static const char *const below[] = { "HDF5", "MPI-IO", "MPI", "ISOC", "AIO", "POSIX", "SOCKET" };

	for (int i = 0; i < 2; i++)
		if (!strcmp(above[i], name))
			return i;
	for (int i = 0; i < 7; i++)
		if (!strcmp(below[i], name))
			return 3 + i;
	return 2;
}

/* Stable: layers in one place keep the order in which they appeared. Nothing refers to a layer's index any more. */
static void sort_layers(struct summary_sink *s)
{
	for (uint32_t i = 1; i < s->nlayers; i++) {
		struct summary_layer layer = s->layers[i];
		uint32_t k = i;

		for (; k && place_of(s->layers[k - 1].name) > place_of(layer.name); k--)
			s->layers[k] = s->layers[k - 1];
		s->layers[k] = layer;
	}
}

/* Whether all system calls were wanted. */
static bool has_system_time(const struct model *model)
{
	for (size_t i = 0; i < model->left_out.n; i++) {
		const struct model_left_out *l = &model->left_out.v[i];

		for (size_t p = 0; l->layer && (l->whole || l->calls) && p < model->paradigms.n; p++)
			if (model->paradigms.v[p].os && !strcmp(model->paradigms.v[p].identification, l->layer))
				return false;
	}
	return true;
}

static int summary_finish(struct sink *sink, const struct model *model)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_report report = { .model = model, .layers = s->layers, .nlayers = s->nlayers,
					 .unmatched = s->unmatched };
	int error = count_pending(s, model, &report);

	if (!error)
		error = summary_files(&report, s->handles, s->nhandles);
	if (!error)
		error = summary_objects(&report, s->handles, s->nhandles, s->variables);
	sort_layers(s);
	for (size_t i = 0; i < s->nlayers; i++)
		s->layers[i].system_known = has_system_time(model);
	if (!error)
		error = count_members(s, &report);
	if (!error)
		error = s->json ? summary_json_write(s->out, &report) : summary_text_write(s->out, &report);
	if (!error && fflush(s->out))
		error = -errno;
	if (!error && s->also_json)
		error = summary_json_write(s->also_json, &report);
	if (!error && s->also_json && fflush(s->also_json))
		error = -errno;
	free(report.files);
	summary_objects_free(&report);
	return error;
}

const char *summary_scope_name(enum model_scope scope)
{
	return scope == SCOPE_SHARED ? "shared" : scope == SCOPE_NODE ? "node" : "unknown";
}

int summary_sink_create(struct sink **out_sink, FILE *out, bool json)
{
	struct summary_sink *s = calloc(1, sizeof(*s));

	*out_sink = NULL;
	if (!s)
		return -ENOMEM;
	s->sink.event = summary_event;
	s->sink.finish = summary_finish;
	s->sink.location_end = summary_location_end;
	s->out = out;
	s->json = json;
	*out_sink = &s->sink;
	return 0;
}

void summary_sink_also_json(struct sink *sink, FILE *file)
{
	((struct summary_sink *)sink)->also_json = file;
}

void summary_sink_destroy(struct sink *sink)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_variable *v, *next_variable;
	struct pending *p, *next;

	if (!s)
		return;
	HASH_ITER(hh, s->variables, v, next_variable) {
		HASH_DEL(s->variables, v);
		free(v);
	}
	HASH_ITER(hh, s->pending, p, next) {
		HASH_DEL(s->pending, p);
		free(p);
	}
	for (size_t i = 0; i < s->nlocations; i++) {
		free(s->locations[i].frames);
		free(s->locations[i].blocking);
	}
	free(s->locations);
	free(s->region_layer);
	free(s->layers);
	free(s->handles);
	free(s);
}
