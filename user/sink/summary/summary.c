/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Condenses the counters to a report at the end. The file of a handle may become known late: files are added up only then.
 */
#include "sink/summary/summary_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/known_layers.h"

/* Keeps what the report needs. */
static int summary_location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct location_state *l = location < s->nlocations ? &s->locations[location] : NULL;

	(void)model;
	if (!l || l->nframes || l->nblocking)
		return 0;
	free(l->frames);
	free(l->blocking);
	*l = (struct location_state){ .seen = l->seen, .io_ns = l->io_ns };
	return 0;
}

/* ---- the end ---- */

/* The lifetime of a process within the recording; if its end is unknown, up to the end of the recording. */
static void summary_find_span(const struct model *m, size_t group, struct summary_process *p)
{
	const struct model_process *life = group < m->processes.n ? &m->processes.v[group] : NULL;

	p->begin_ns = life && !life->was_running && life->begin_ns > summary_begin_ns(m) ? life->begin_ns : summary_begin_ns(m);
	p->end_ns = life && life->end_ns ? life->end_ns : m->clock_end_ns;
	if (p->end_ns < p->begin_ns)
		p->end_ns = p->begin_ns;
}

static int summary_count_members(const struct summary_sink *s, struct summary_report *r)
{
	const struct model *m = r->model;

	r->processes = calloc(m->groups.n + 1, sizeof(*r->processes));
	if (!r->processes)
		return -ENOMEM;
	for (size_t i = 0; i < m->locations.n; i++) {
		const struct location_state *l = i < s->nlocations && s->locations[i].seen ? &s->locations[i] : NULL;
		struct summary_process *p =
			&r->processes[m->locations.v[i].group < m->groups.n ? m->locations.v[i].group : m->groups.n];
		uint64_t io_ns = l ? l->io_ns + (l->io_frames ? m->clock_end_ns - l->io_since_ns : 0) : 0;

		r->open_calls += l ? l->nframes : 0;
		if (!l && !m->locations.v[i].used)
			continue;
		r->threads++;
		p->threads++;
		p->seen = true;
		p->io_ns = io_ns > p->io_ns ? io_ns : p->io_ns;
	}
	for (size_t g = 0; g < m->groups.n; g++) {
		struct summary_process *p = &r->processes[g];

		p->layers = g < s->ngroups ? s->groups[g].layers : NULL;
		p->nlayers = g < s->ngroups ? s->groups[g].nlayers : 0;
		p->between = g < s->ngroups ? s->groups[g].between : (struct summary_between){ 0 };
		for (size_t i = 0; i < p->nlayers; i++)
			p->calls += p->layers[i].calls;
		summary_costs_process(s, m, p);
		summary_find_span(m, g, p);
		r->nprocesses += p->seen;
		r->ranks += p->seen && m->groups.v[g].rank >= 0;
	}
	return 0;
}

/* Returns the layer of a handle, in all processes and in one. */
static struct summary_layer *layer_of_use(struct summary_sink *s, const struct model *model, const struct use *use, uint32_t *layer)
{
	*layer = summary_layer_by_name(s, model->paradigms.v[model->handles.v[use->key >> 32].paradigm].identification);
	return *layer == REF_NONE ? NULL : summary_layer_in_group(s, (uint32_t)use->key, *layer);
}

static void summary_add_sizes(struct summary_sizes *to, const struct summary_sizes *from)
{
	for (int i = 0; i < SUMMARY_SIZES; i++) {
		to->read[i] += from->read[i];
		to->written[i] += from->written[i];
	}
}

static int add_up_layers(struct summary_sink *s, const struct model *model)
{
	for (const struct use *use = s->uses; use; use = use->hh.next) {
		uint32_t layer;
		struct summary_layer *own = layer_of_use(s, model, use, &layer);

		if (!own)
			return -ENOMEM;
		summary_add(&own->counts, &use->counts);
	}
	for (uint32_t i = 0; i < s->nlayers; i++)
		s->layers[i].calls = 0;
	for (size_t g = 0; g < s->ngroups; g++)
		for (uint32_t i = 0; i < s->groups[g].nlayers; i++) {
			const struct summary_layer *own = &s->groups[g].layers[i];

			s->layers[i].calls += own->calls;
			s->layers[i].failed += own->failed;
			s->layers[i].time_ns += own->time_ns;
			s->layers[i].system_ns += own->system_ns;
			s->layers[i].longest_ns =
				own->longest_ns > s->layers[i].longest_ns ? own->longest_ns : s->layers[i].longest_ns;
			summary_add_sizes(&s->layers[i].sizes, &own->sizes);
			for (int class = 0; class < MODEL_CLASSES; class ++)
				summary_class_add(&s->layers[i].classes[class], &own->classes[class]);
			summary_cpu_add(&s->layers[i].cpu, &own->cpu);
			summary_add(&s->layers[i].counts, &own->counts);
		}
	return 0;
}

static int list_parts(struct summary_sink *s, struct summary_report *r)
{
	r->parts = calloc(HASH_COUNT(s->uses) + 1, sizeof(*r->parts));
	if (!r->parts)
		return -ENOMEM;
	for (struct use *use = s->uses; use; use = use->hh.next) {
		const struct model_handle *h = &r->model->handles.v[use->key >> 32];

		r->parts[r->nparts++] = (struct summary_part){ h->file < r->model->files.n ? h->file : REF_NONE,
							       h->paradigm,
							       (uint32_t)use->key,
							       use->counts,
							       use->longest_ns,
							       &use->classes };
	}
	return 0;
}

/* Returns counts by handle over all processes, for the objects; the caller frees them. */
static struct summary_counts *counts_by_handle(const struct summary_sink *s, const struct model *model)
{
	struct summary_counts *handles = calloc(model->handles.n + 1, sizeof(*handles));

	for (const struct use *use = s->uses; use && handles; use = use->hh.next)
		summary_add(&handles[use->key >> 32], &use->counts);
	return handles;
}

/* Stable: layers at the same place keep the order in which they appeared. Indexes of layers are not used after this. */
static void sort_layers(struct summary_sink *s)
{
	for (uint32_t i = 1; i < s->nlayers; i++) {
		struct summary_layer layer = s->layers[i];
		uint32_t k = i;

		for (; k && known_layer_place(s->layers[k - 1].name) > known_layer_place(layer.name); k--)
			s->layers[k] = s->layers[k - 1];
		s->layers[k] = layer;
	}
}

/* Returns whether all system calls were recorded. */
static bool has_system_time(const struct model *model)
{
	for (size_t i = 0; i < model->excluded.n; i++) {
		const struct model_excluded *l = &model->excluded.v[i];

		for (size_t p = 0; l->layer && (l->whole || l->calls) && p < model->paradigms.n; p++)
			if (model->paradigms.v[p].os && !strcmp(model->paradigms.v[p].identification, l->layer))
				return false;
	}
	return true;
}

static int summary_make_report(struct summary_sink *s, struct summary_report *r)
{
	struct summary_counts *handles;
	int error = summary_count_open(s, r->model, r);

	if (!error)
		error = add_up_layers(s, r->model);
	if (!error)
		error = list_parts(s, r);
	if (!error)
		error = summary_files(r);
	handles = error ? NULL : counts_by_handle(s, r->model);
	if (!error)
		error = handles ? summary_objects(r, handles, r->model->handles.n, s->variables) : -ENOMEM;
	free(handles);
	summary_costs_layers(s, r->model);
	error = error ? error : summary_count_members(s, r);
	sort_layers(s);
	for (size_t i = 0; i < s->nlayers; i++)
		s->layers[i].system_known = has_system_time(r->model);
	r->layers = s->layers;
	r->nlayers = s->nlayers;
	return error;
}

static int summary_finish(struct sink *sink, const struct model *model)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_report report = { .model = model, .unmatched = s->unmatched, .all_files = s->all_files, .sites = s->sites,
					 .names = s->names };
	int error = summary_make_report(s, &report);

	if (!error)
		error = s->json ? summary_json_write(s->out, &report) : summary_text_write(s->out, &report);
	if (!error && fflush(s->out))
		error = -errno;
	if (!error && s->also_json)
		error = summary_json_write(s->also_json, &report);
	if (!error && s->also_json && fflush(s->also_json))
		error = -errno;
	free(report.files);
	free(report.parts);
	free(report.processes);
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
	s->use_pool.size = sizeof(struct use);
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

void summary_sink_all_files(struct sink *sink)
{
	((struct summary_sink *)sink)->all_files = true;
}

void summary_sink_destroy(struct sink *sink)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_variable *v, *next_variable;
	struct pending *p, *next;
	struct use *use, *next_use;

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
	HASH_ITER(hh, s->uses, use, next_use) {
		HASH_DEL(s->uses, use);
		summary_use_free(s, use);
	}
	pool_deinit(&s->use_pool);
	pool_deinit(&s->changes_pool);
	for (size_t i = 0; i < s->nlocations; i++) {
		free(s->locations[i].frames);
		free(s->locations[i].blocking);
	}
	summary_changes_free(s);
	for (size_t i = 0; i < s->ngroups; i++)
		free(s->groups[i].layers);
	free(s->groups);
	free(s->last_use);
	free(s->locations);
	summary_sites_destroy(s->sites);
	summary_names_destroy(s->names);
	free(s->region_layer);
	free(s->paradigm_layer);
	free(s->layers);
	free(s);
}
