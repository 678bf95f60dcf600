/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary interval by interval, while it is counted: counters are reported and cleared, so that the intervals add up to the
 * summary by construction. The summary counts a call's time when the call ends. Here it is shared among the intervals that the call
 * overlaps: open calls count up to the end of each interval; the time of calls that become known when they end, before the current
 * interval, is reported apart, as that of earlier ones. Counters of handles are freed when they were reported.
 */
#include "sink/summary/summary_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* open: of calls that are open, up to the end of the interval. given: that was reported of them at the ends of intervals before.
 * earlier: before the interval, and reported as such. */
struct shares {
	uint64_t open_ns, given_ns, earlier_ns;
};

/* Of a layer in one process. */
struct layer_changes {
	uint64_t open_calls;
	struct shares system, classes[MODEL_CLASSES];
};

struct use_changes {
	struct shares classes[MODEL_CLASSES];
	uint32_t read_sizes[SUMMARY_SIZES], write_sizes[SUMMARY_SIZES];
	struct use *next; /* in changes.uses */
	bool listed;
	bool needed; /* an open call or operation refers to the use */
};

struct changes {
	uint64_t begin_ns; /* of the current interval */
	uint64_t left_ns; /* end of the call that is looked at: a COLLECTIVE record may come intervals after it. UINT64_MAX: open */
	struct use *uses; /* that changed in it */
	size_t nuses, flush_at; /* their number; that at which they are reported before the interval ends */
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
	s->changes_pool.size = sizeof(struct use_changes);
	s->changes = calloc(1, sizeof(*s->changes));
	if (s->changes) {
		s->changes->flush_at = SUMMARY_MOST_CHANGES;
		return 0;
	}
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
	if (!use->changes && !(use->changes = pool_take(&s->changes_pool)))
		return -ENOMEM;
	use->changes->listed = true;
	use->changes->next = s->changes->uses;
	s->changes->uses = use;
	s->changes->nuses++;
	return 0;
}

void summary_use_sized(struct use *use, bool write, unsigned size_class)
{
	if (use->changes)
		(write ? use->changes->write_sizes : use->changes->read_sizes)[size_class]++;
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

static int summary_changes_add_earlier(struct changes *c, const struct summary_earlier *earlier)
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
static int earlier_of_layer(struct summary_sink *s, uint32_t group, uint32_t layer, const struct frame *f, bool system)
{
	struct layer_changes *changes = layer_changes(s, group, layer);
	uint64_t to_ns = earlier_end(s->changes);

	if (!changes)
		return -ENOMEM;
	(system ? &changes->system : &changes->classes[f->class])->earlier_ns += to_ns - f->enter_ns;
	return summary_changes_add_earlier(s->changes, &(struct summary_earlier){ .group = group,
								  .layer = s->layers[layer].name,
								  .class = f->class,
								  .from_ns = f->enter_ns,
								  .to_ns = to_ns,
								  .system = system });
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
			ret = earlier_of_layer(s, group, layer, &l->frames[at], true);
	}
	return ret;
}

static int earlier_of_use(struct summary_sink *s, const struct frame *f)
{
	uint64_t to_ns = earlier_end(s->changes);

	f->use->changes->classes[f->class].earlier_ns += to_ns - f->enter_ns;
	return summary_changes_add_earlier(s->changes, &(struct summary_earlier){ .group = (uint32_t)f->use->key,
								  .handle = f->use->key >> 32,
								  .class = f->class,
								  .from_ns = f->enter_ns,
								  .to_ns = to_ns });
}

/* Of the call in frames[at], as far as its time was not shared yet. */
static int earlier_of_call(struct summary_sink *s, const struct location_state *l, uint32_t group, uint32_t at)
{
	const struct frame *f = &l->frames[at];
	uint32_t layer = s->region_layer[f->region];
	int ret = 0;

	if (f->enter_ns >= s->changes->begin_ns)
		return 0;
	if (!f->shared && summary_is_outermost(s, l, at, layer))
		ret = earlier_of_layer(s, group, layer, f, false);
	if (!ret && !f->shared && s->layers[layer].os)
		ret = earlier_system(s, l, group, at);
	if (!ret && f->use && !f->use_shared && summary_is_outermost_use(s, l, at, layer))
		ret = earlier_of_use(s, f);
	return ret;
}

int summary_call_ended(struct summary_sink *s, const struct model *model, uint32_t location, uint64_t time_ns)
{
	const struct location_state *l = &s->locations[location];
	const struct frame *f = &l->frames[l->nframes];
	uint32_t group = model->locations.v[location].group;
	int ret;

	if (!s->changes)
		return 0;
	ret = !layer_changes(s, group, s->region_layer[f->region]) ? -ENOMEM : f->use ? summary_use_changed(s, f->use) : 0;
	s->changes->left_ns = f->enter_ns + time_ns;
	return ret ? ret : earlier_of_call(s, l, group, l->nframes);
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

static int share_call(struct summary_sink *s, struct location_state *l, uint32_t group, uint32_t at, uint64_t end_ns)
{
	struct frame *f = &l->frames[at];
	uint32_t layer = s->region_layer[f->region];
	uint64_t span_ns = end_ns > f->enter_ns ? end_ns - f->enter_ns : 0;
	struct layer_changes *changes = layer_changes(s, group, layer);
	int ret = !changes ? -ENOMEM : f->use ? summary_use_changed(s, f->use) : 0;

	s->changes->left_ns = UINT64_MAX;
	if (!ret)
		ret = earlier_of_call(s, l, group, at);
	if (ret)
		return ret;
	changes = layer_changes(s, group, layer);
	changes->open_calls++;
	f->shared = true;
	if (summary_is_outermost(s, l, at, layer)) {
		changes->classes[f->class].open_ns += span_ns;
		changes->system.open_ns += system_so_far(s, l, at, end_ns);
	}
	if (f->use && summary_is_outermost_use(s, l, at, layer)) {
		f->use->changes->classes[f->class].open_ns += span_ns;
		f->use_shared = true;
	}
	return 0;
}

static int share_open_calls(struct summary_sink *s, const struct model *model, uint64_t end_ns)
{
	int ret = 0;

	for (size_t i = 0; i < s->nlocations; i++)
		for (uint32_t at = 0; at < s->locations[i].nframes && !ret; at++)
			ret = share_call(s, &s->locations[i], model->locations.v[i].group, at, end_ns);
	return ret;
}

/* ---- reports ---- */

static bool summary_changes_any(const void *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint64_t *)numbers)[i])
			return true;
	return false;
}

/* counted_ns: of the calls that ended. */
static uint64_t take_time(uint64_t counted_ns, struct shares *shares)
{
	uint64_t added_ns = counted_ns + shares->open_ns - shares->given_ns - shares->earlier_ns;

	*shares = (struct shares){ .given_ns = shares->open_ns };
	return added_ns;
}

static void summary_changes_take_calls(struct summary_layer *own, struct layer_changes *c, struct summary_calls *added)
{
	*added = (struct summary_calls){ .calls = own->calls,
					 .failed = own->failed,
					 .system_ns = take_time(own->system_ns, &c->system),
					 .longest_ns = own->longest_ns,
					 .open_calls = c->open_calls,
					 .sizes = own->sizes };
	memcpy(added->classes, own->classes, sizeof(added->classes));
	for (int i = 0; i < MODEL_CLASSES; i++) {
		added->classes[i].time_ns = take_time(own->classes[i].time_ns, &c->classes[i]);
		added->time_ns += added->classes[i].time_ns;
	}
	*own = (struct summary_layer){ 0 };
	c->open_calls = 0;
}

static int summary_changes_report_calls(struct summary_sink *s, uint32_t group, const struct summary_changes *to)
{
	struct group_state *g = &s->groups[group];
	int ret = !g->nlayers || layer_changes(s, group, g->nlayers - 1) ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < g->nlayers && !ret; i++) {
		struct summary_calls added;

		summary_changes_take_calls(&g->layers[i], &g->changes[i], &added);
		if (summary_changes_any(&added, sizeof(added) / sizeof(uint64_t)))
			ret = to->calls(to->arg, group, s->layers[i].name, &added);
	}
	return ret;
}

static void summary_changes_take_operations(struct use *use, struct summary_operations *added)
{
	*added = (struct summary_operations){ .counts = use->counts, .longest_ns = use->longest_ns };
	added->counts.time_ns = 0;
	for (int i = 0; i < MODEL_CLASSES; i++) {
		struct summary_class *class = &added->classes[i];

		if (use->classes.at[i])
			*class = use->classes.v[use->classes.at[i] - 1];
		class->time_ns = take_time(class->time_ns, &use->changes->classes[i]);
		added->counts.time_ns += class->time_ns;
	}
	added->counts.metadata_ns = added->classes[MODEL_CLASS_METADATA].time_ns + added->classes[MODEL_CLASS_LOCK].time_ns;
	for (int i = 0; i < SUMMARY_SIZES; i++) {
		added->sizes.read[i] = use->changes->read_sizes[i];
		added->sizes.written[i] = use->changes->write_sizes[i];
		use->changes->read_sizes[i] = use->changes->write_sizes[i] = 0;
	}
	use->counts = (struct summary_counts){ 0 };
	use->longest_ns = 0;
	summary_classes_clear(&use->classes);
}

static int report_use(struct use *use, const struct summary_changes *to)
{
	struct summary_operations added;

	summary_changes_take_operations(use, &added);
	if (!summary_changes_any(&added, sizeof(added) / sizeof(uint64_t)))
		return 0;
	return to->operations(to->arg, (uint32_t)use->key, use->key >> 32, &added);
}

/* ---- counters that are not needed any more ---- */

static void summary_changes_need(struct use *use)
{
	if (use && use->changes)
		use->changes->needed = true;
}

static void find_needed(struct summary_sink *s)
{
	for (struct use *use = s->uses; use; use = use->hh.next)
		if (use->changes)
			use->changes->needed = false;
	for (size_t i = 0; i < s->nlocations; i++) {
		const struct location_state *l = &s->locations[i];

		for (uint32_t k = 0; k < l->nframes; k++)
			summary_changes_need(l->frames[k].use);
		for (uint32_t k = 0; k < l->nblocking; k++)
			summary_changes_need(l->blocking[k].op.use);
	}
	for (const struct pending *p = s->pending; p; p = p->hh.next)
		summary_changes_need(p->op.use);
}

/* They were reported. */
static void free_uses(struct summary_sink *s)
{
	struct use *use, *next;

	HASH_ITER(hh, s->uses, use, next) {
		uint32_t handle = use->key >> 32;

		if (use->changes && (use->changes->needed || use->changes->listed))
			continue;
		if (s->last_use[handle] == use)
			s->last_use[handle] = NULL;
		HASH_DEL(s->uses, use);
		summary_use_free(s, use);
	}
}

/* Reports handles that changed; those of open calls and operations only if all. */
static int report_uses(struct summary_sink *s, bool all, const struct summary_changes *to)
{
	struct changes *c = s->changes;
	struct use *listed = c->uses;
	int ret = 0;

	c->uses = NULL;
	c->nuses = 0;
	while (listed) {
		struct use *use = listed;

		listed = use->changes->next;
		use->changes->listed = false;
		if (!ret && (all || !use->changes->needed))
			ret = report_use(use, to);
		else
			ret = ret ? ret : summary_use_changed(s, use);
	}
	free_uses(s);
	return ret;
}

int summary_sink_flush(struct sink *sink, const struct summary_changes *to)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	int ret;

	if (s->changes->nuses < s->changes->flush_at)
		return 0;
	find_needed(s);
	ret = report_uses(s, false, to);
	s->changes->flush_at = s->changes->nuses + SUMMARY_MOST_CHANGES; /* those that are needed stay */
	return ret;
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
		ret = summary_changes_report_calls(s, g, to);
	find_needed(s);
	if (!ret)
		ret = report_uses(s, true, to);
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
