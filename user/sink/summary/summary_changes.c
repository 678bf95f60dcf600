/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary piece by piece, while it is counted: what was added since the last look. So the pieces add up to the summary by
 * construction.
 */
#include "sink/summary/summary_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_end(struct sink *sink, const struct model *model)
{
	(void)sink, (void)model;
	return 0;
}

int summary_sink_create_counter(struct sink **out_sink)
{
	int ret = summary_sink_create(out_sink, NULL, false);

	if (!ret)
		(*out_sink)->finish = no_end;
	return ret;
}

/* ---- calls ---- */

static int reserve_reported(struct group_state *g)
{
	struct summary_layer *grown;

	if (g->nreported == g->nlayers)
		return 0;
	grown = reallocarray(g->reported, g->nlayers, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + g->nreported, 0, (g->nlayers - g->nreported) * sizeof(*grown));
	g->reported = grown;
	g->nreported = g->nlayers;
	return 0;
}

static int report_calls(struct summary_sink *s, uint32_t group, const struct summary_changes *to)
{
	struct group_state *g = &s->groups[group];
	int ret = reserve_reported(g);

	for (uint32_t i = 0; i < g->nlayers && !ret; i++) {
		const struct summary_layer *now = &g->layers[i], *then = &g->reported[i];
		struct summary_calls added = { now->calls - then->calls, now->failed - then->failed, now->time_ns - then->time_ns,
					       now->system_ns - then->system_ns };

		if (!added.calls && !added.failed && !added.time_ns)
			continue;
		ret = to->calls(to->arg, group, s->layers[i].name, &added);
		g->reported[i] = *now;
	}
	return ret;
}

/* ---- operations ---- */

static int report_operations(struct use *use, const struct summary_changes *to)
{
	struct summary_counts added = use->counts;
	uint64_t *v = (uint64_t *)&added, *then = (uint64_t *)use->reported;
	bool any = false;

	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++) {
		v[i] -= then ? then[i] : 0;
		any |= v[i];
	}
	if (!any)
		return 0;
	if (!use->reported && !(use->reported = malloc(sizeof(*use->reported))))
		return -ENOMEM;
	*use->reported = use->counts;
	return to->operations(to->arg, (uint32_t)use->key, use->key >> 32, &added);
}

int summary_sink_changes(struct sink *sink, const struct model *model, bool last, const struct summary_changes *to)
{
	struct summary_sink *s = (struct summary_sink *)sink;
	struct summary_report open = { .model = model };
	int ret = last ? summary_count_open(s, &open) : 0;

	for (size_t g = 0; g < s->ngroups && !ret; g++)
		ret = report_calls(s, g, to);
	for (struct use *use = s->uses; use && !ret; use = use->hh.next)
		ret = report_operations(use, to);
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
