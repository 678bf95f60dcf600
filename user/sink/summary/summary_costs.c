/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How much of the times in the summary is ioprobe's own, about: calls, times what one costs. Of an outermost call it is the part
 * that lies between its own times; of the recorded calls inside it is all. Nothing is subtracted anywhere.
 */
#include "sink/summary/summary_internal.h"

#include <string.h>

void summary_costs_enter(struct summary_sink *s, const struct location_state *l, uint32_t layer)
{
	struct frame *added = &l->frames[l->nframes - 1];

	added->outermost = true;
	for (uint32_t i = 0; i + 1 < l->nframes; i++) {
		uint32_t outer = s->region_layer[l->frames[i].region];

		added->outermost &= outer != layer;
		if (l->frames[i].outermost && outer < COST_LAYERS && layer < COST_LAYERS)
			s->calls_inside[outer][layer]++;
	}
	if (added->outermost && layer < COST_LAYERS)
		s->outermost_calls[layer]++;
}

static const struct model_cost *cost_of(const struct model *model, const char *layer)
{
	for (size_t i = 0; i < model->costs.n; i++)
		if (!strcmp(model->costs.v[i].layer, layer))
			return &model->costs.v[i];
	return NULL;
}

/* After the layers' calls were added up, before they are sorted: s->layers[i].index is i. */
static void layer_cost(struct summary_sink *s, const struct model *model, uint32_t layer)
{
	const struct model_cost *own = cost_of(model, s->layers[layer].name);
	uint64_t ns = own && layer < COST_LAYERS ? s->outermost_calls[layer] * own->inside_ns : 0;

	if (own)
		s->layers[layer].recording_ns = s->layers[layer].calls * own->total_ns;
	if (!own || s->nlayers > COST_LAYERS)
		return;
	for (uint32_t i = 0; i < s->nlayers; i++) {
		const struct model_cost *inner = cost_of(model, s->layers[i].name);

		if (s->calls_inside[layer][i] && !inner)
			return;
		ns += inner ? s->calls_inside[layer][i] * inner->total_ns : 0;
	}
	s->layers[layer].recorder_known = true;
	s->layers[layer].recorder_ns = ns;
}

void summary_costs_layers(struct summary_sink *s, const struct model *model)
{
	for (uint32_t i = 0; i < s->nlayers; i++)
		layer_cost(s, model, i);
}

void summary_costs_process(const struct summary_sink *s, const struct model *model, struct summary_process *p)
{
	p->recorder_known = model->costs.n;
	for (size_t i = 0; i < p->nlayers; i++) {
		const struct model_cost *cost = cost_of(model, s->layers[i].name);

		if (p->layers[i].calls && !cost)
			p->recorder_known = false;
		p->recorder_ns += cost ? p->layers[i].calls * cost->total_ns : 0;
	}
}
