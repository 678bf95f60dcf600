/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary interval by interval, while it is counted: what was added since the last look, so that the intervals add up to the
 * summary by construction. The summary counts a call's time when the call ends. Here it is shared among the intervals that the call
 * overlaps: open calls count up to the end of each interval; the time of calls that become known when they end, before the current
 * interval, is reported apart, as that of earlier ones.
 */
#include "sink/summary/summary_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a layer in one process. open, earlier: of the current interval. */
struct layer_changes {
	struct summary_layer reported; /* with the time of calls that were open then */
	uint64_t open_calls, open_ns, open_system_ns;
	uint64_t earlier_ns, earlier_system_ns;
	uint64_t longest_ns;
};

struct use_changes {
	struct summary_counts reported;
	uint64_t open_ns, open_metadata_ns;
	uint64_t earlier_ns, earlier_metadata_ns;
	uint64_t longest_ns;
	struct use *next; /* in changes.uses */
	bool listed;
};

struct changes {
	uint64_t begin_ns; /* of the current interval */
	uint64_t left_ns; /* end of the call that is looked at: a COLLECTIVE record may come intervals after it. UINT64_MAX: open */
	struct use *uses; /* that changed in it */
	struct summary_earlier *earlier;
	size_t nearlier, cap_earlier;
};

static int no_end(struct sink *sink, const struct model *model)
{
	(void)sink, (void)model;
	return 0;
}

int summary_sink_create_counter(struct sink **out_sink)
{
	int ret = summary_sink_create(out_sink, NULL, false);
	struct summary_sink *s = (struct summary_sink *)*out_sink;

	if (ret)
		return ret;
	s->sink.finish = no_end;
	s->changes = calloc(1, sizeof(*s->changes));
	if (s->changes)
		return 0;
	summary_sink_destroy(&s->sink);
	*out_sink = NULL;
	return -ENOMEM;
}

void summary_changes_free(struct summary_sink *s)
{
	for (size_t g = 0; g < s->ngroups; g++)
		free(s->groups[g].changes);
	if (s->changes)
		free(s->changes->earlier);
	free(s->changes);
}

int summary_use_changed(struct summary_sink *s, struct use *use)
{
	if (!s->changes || (use->changes && use->changes->listed))
		return 0;
	if (!use->changes && !(use->changes = calloc(1, sizeof(*use->changes))))
		return -ENOMEM;
	use->changes->listed = true;
	use->changes->next = s->changes->uses;
	s->changes->uses = use;
	return 0;
}

/* Of a layer that the group has. */
static struct layer_changes *layer_changes(struct summary_sink *s, uint32_t group, uint32_t layer)
{
	struct group_state *g = &s->groups[group];
	struct layer_changes *grown;

	if (layer < g->nchanges)
		return &g->changes[layer];
	grown = reallocarray(g->changes, g->nlayers, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + g->nchanges, 0, (g->nlayers - g->nchanges) * sizeof(*grown));
	g->changes = grown;
	g->nchanges = g->nlayers;
	return &g->changes[layer];
}

/* ---- the time before the current interval of calls that were not known then ---- */

static int add_earlier(struct changes *c, const struct summary_earlier *earlier)
{
	if (c->nearlier == c->cap_earlier) {
		size_t cap = c->cap_earlier ? 2 * c->cap_earlier : 64;
		struct summary_earlier *grown = reallocarray(c->earlier, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->earlier = grown;
		c->cap_earlier = cap;
	}
	c->earlier[c->nearlier++] = *earlier;
	return 0;
}

static uint64_t earlier_end(const struct changes *c)
{
	return c->begin_ns < c->left_ns ? c->begin_ns : c->left_ns;
}

/* Of the call in frames[at], for its own layer (time) or for one around it (system). */
static int earlier_of_layer(struct summary_sink *s, uint32_t group, uint32_t layer, uint64_t enter_ns, bool system)
{
	struct layer_changes *changes = layer_changes(s, group, layer);
	uint64_t to_ns = earlier_end(s->changes);

	if (!changes)
		return -ENOMEM;
	*(system ? &changes->earlier_system_ns : &changes->earlier_ns) += to_ns - enter_ns;
	return add_earlier(
		s->changes,
		&(struct summary_earlier){
			.group = group, .layer = s->layers[layer].name, .from_ns = enter_ns, .to_ns = to_ns, .system = system });
}

/* A system call's time is system time of every layer around it, unless another system call is. */
static int earlier_system(struct summary_sink *s, const struct location_state *l, uint32_t group, uint32_t at)
{
	int ret = 0;

	for (uint32_t i = 0; i < at; i++)
		if (s->layers[s->region_layer[l->frames[i].region]].os)
			return 0;
	for (uint32_t i = 0; i <= at && !ret; i++) {
		uint32_t layer = s->region_layer[l->frames[i].region];

		if (summary_is_outermost(s, l, i, layer))
			ret = earlier_of_layer(s, group, layer, l->frames[at].enter_ns, true);
	}
	return ret;
}

static int earlier_of_use(struct summary_sink *s, struct use *use, uint64_t enter_ns, bool metadata)
{
	uint64_t to_ns = earlier_end(s->changes);

	use->changes->earlier_ns += to_ns - enter_ns;
	use->changes->earlier_metadata_ns += metadata ? to_ns - enter_ns : 0;
	return add_earlier(s->changes, &(struct summary_earlier){ .group = (uint32_t)use->key,
								  .handle = use->key >> 32,
								  .from_ns = enter_ns,
								  .to_ns = to_ns,
								  .metadata = metadata });
}

/* Of the call in frames[at], as far as its time was not shared yet. */
static int earlier_of_call(struct summary_sink *s, const struct model *model, const struct location_state *l, uint32_t group,
			   uint32_t at)
{
	const struct frame *f = &l->frames[at];
	uint32_t layer = s->region_layer[f->region];
	int ret = 0;

	if (f->enter_ns >= s->changes->begin_ns)
		return 0;
	if (!f->shared && summary_is_outermost(s, l, at, layer))
		ret = earlier_of_layer(s, group, layer, f->enter_ns, false);
	if (!ret && !f->shared && s->layers[layer].os)
		ret = earlier_system(s, l, group, at);
	if (!ret && f->use && !f->use_shared && summary_is_outermost_use(s, l, at, layer))
		ret = earlier_of_use(s, f->use, f->enter_ns, model->regions.v[f->region].metadata);
	return ret;
}

int summary_call_ended(struct summary_sink *s, const struct model *model, uint32_t location, uint64_t time_ns)
{
	const struct location_state *l = &s->locations[location];
	const struct frame *f = &l->frames[l->nframes];
	uint32_t group = model->locations.v[location].group;
	struct layer_changes *changes;
	int ret;

	if (!s->changes)
		return 0;
	changes = layer_changes(s, group, s->region_layer[f->region]);
	ret = !changes ? -ENOMEM : f->use ? summary_use_changed(s, f->use) : 0;
	if (ret)
		return ret;
	if (time_ns > changes->longest_ns)
		changes->longest_ns = time_ns;
	if (f->use && time_ns > f->use->changes->longest_ns)
		f->use->changes->longest_ns = time_ns;
	s->changes->left_ns = f->enter_ns + time_ns;
	return earlier_of_call(s, model, l, group, l->nframes);
}

/* ---- calls that are open at the end of an interval ---- */

/* What the call in frames[at] has spent in system calls so far. */
static uint64_t system_so_far(const struct summary_sink *s, const struct location_state *l, uint32_t at, uint64_t end_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = at; i < l->nframes; i++) {
		if (s->layers[s->region_layer[l->frames[i].region]].os)
			return sum + (end_ns > l->frames[i].enter_ns ? end_ns - l->frames[i].enter_ns : 0);
		sum += l->frames[i].system_ns;
	}
	return sum;
}

static int share_call(struct summary_sink *s, const struct model *model, struct location_state *l, uint32_t group, uint32_t at,
		      uint64_t end_ns)
{
	struct frame *f = &l->frames[at];
	uint32_t layer = s->region_layer[f->region];
	uint64_t span_ns = end_ns > f->enter_ns ? end_ns - f->enter_ns : 0;
	struct layer_changes *changes = layer_changes(s, group, layer);
	int ret = !changes ? -ENOMEM : f->use ? summary_use_changed(s, f->use) : 0;

	s->changes->left_ns = UINT64_MAX;
	if (!ret)
		ret = earlier_of_call(s, model, l, group, at);
	if (ret)
		return ret;
	changes = layer_changes(s, group, layer);
	changes->open_calls++;
	f->shared = true;
	if (summary_is_outermost(s, l, at, layer)) {
		changes->open_ns += span_ns;
		changes->open_system_ns += system_so_far(s, l, at, end_ns);
	}
	if (f->use && summary_is_outermost_use(s, l, at, layer)) {
		f->use->changes->open_ns += span_ns;
		f->use->changes->open_metadata_ns += model->regions.v[f->region].metadata ? span_ns : 0;
		f->use_shared = true;
	}
	return 0;
}

static int share_open_calls(struct summary_sink *s, const struct model *model, uint64_t end_ns)
{
	int ret = 0;

	for (size_t i = 0; i < s->nlocations; i++)
		for (uint32_t at = 0; at < s->locations[i].nframes && !ret; at++)
			ret = share_call(s, model, &s->locations[i], model->locations.v[i].group, at, end_ns);
	return ret;
}

/* ---- reports ---- */

static bool any(const void *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint64_t *)numbers)[i])
			return true;
	return false;
}

static void take_added(const struct summary_layer *now, struct layer_changes *c, struct summary_calls *added)
{
	struct summary_layer *then = &c->reported;
	uint64_t time_ns = now->time_ns + c->open_ns, system_ns = now->system_ns + c->open_system_ns;
	const uint64_t *sizes = (const uint64_t *)&now->sizes;

	*added = (struct summary_calls){ now->calls - then->calls,
					 now->failed - then->failed,
					 time_ns - then->time_ns - c->earlier_ns,
					 system_ns - then->system_ns - c->earlier_system_ns,
					 c->longest_ns,
					 c->open_calls,
					 { { 0 }, { 0 } } };
	for (size_t i = 0; i < sizeof(now->sizes) / sizeof(*sizes); i++)
		((uint64_t *)&added->sizes)[i] = sizes[i] - ((uint64_t *)&then->sizes)[i];
	*c = (struct layer_changes){ .reported = *now };
	c->reported.time_ns = time_ns;
	c->reported.system_ns = system_ns;
}

static int report_calls(struct summary_sink *s, uint32_t group, const struct summary_changes *to)
{
	struct group_state *g = &s->groups[group];
	int ret = !g->nlayers || layer_changes(s, group, g->nlayers - 1) ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < g->nlayers && !ret; i++) {
		struct summary_calls added;

		take_added(&g->layers[i], &g->changes[i], &added);
		if (any(&added, sizeof(added) / sizeof(uint64_t)))
			ret = to->calls(to->arg, group, s->layers[i].name, &added);
	}
	return ret;
}

static int report_use(struct use *use, const struct summary_changes *to)
{
	struct use_changes *c = use->changes;
	struct summary_counts added, now = use->counts;
	uint64_t longest_ns = c->longest_ns;

	now.time_ns += c->open_ns;
	now.metadata_ns += c->open_metadata_ns;
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)&added)[i] = ((uint64_t *)&now)[i] - ((uint64_t *)&c->reported)[i];
	added.time_ns -= c->earlier_ns;
	added.metadata_ns -= c->earlier_metadata_ns;
	*c = (struct use_changes){ .reported = now };
	if (!any(&added, SUMMARY_NCOUNTS))
		return 0;
	return to->operations(to->arg, (uint32_t)use->key, use->key >> 32, &added, longest_ns);
}

int summary_sink_changes(struct sink *sink, const struct model *model, uint64_t end_ns, bool last, const struct summary_changes *to)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_report open = { .model = model };
	struct changes *c = s->changes;
	int ret = last ? summary_count_open(s, model, &open) : share_open_calls(s, model, end_ns);

	for (size_t i = 0; i < c->nearlier && !ret; i++)
		ret = to->earlier(to->arg, &c->earlier[i]);
	for (size_t g = 0; g < s->ngroups && !ret; g++)
		ret = report_calls(s, g, to);
	while (c->uses && !ret) {
		struct use *use = c->uses;

		c->uses = use->changes->next;
		ret = report_use(use, to);
	}
	c->nearlier = 0;
	c->begin_ns = end_ns;
	return ret;
}

uint64_t summary_sink_open_calls(const struct sink *sink)
{
	const struct summary_sink *s = (const struct summary_sink *)sink;
	uint64_t n = 0;

	for (size_t i = 0; i < s->nlocations; i++)
		n += s->locations[i].nframes;
	return n;
}
