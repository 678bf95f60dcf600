/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sums of what filters excluded, by filter, layer and process, from the recorder's notes of what was added.
 */
#include "replay/excluded_calls.h"

#include <errno.h>
#include <string.h>


/* layer "": the filter by itself. */
static struct model_excluded *excluded_calls_entry(struct replay *r, const char *filter, const char *layer)
{
	struct model_excluded *known;

	for (size_t i = 0; i < r->model->excluded.n; i++) {
		known = &r->model->excluded.v[i];
		if (!strcmp(known->filter, filter) && !strcmp(known->layer ? known->layer : "", layer))
			return known;
	}
	known = MODEL_ADD(r->model->excluded);
	if (!known)
		return NULL;
	*known = (struct model_excluded){ .filter = model_string(r->model, filter, strlen(filter)),
					  .layer = layer[0] ? model_string(r->model, layer, strlen(layer)) : NULL };
	return known->filter && (known->layer || !layer[0]) ? known : NULL;
}

/* The process whose calls these are, counted since a moment; NULL if that is not known. */
static struct process *excluded_calls_process(const struct replay *r, const struct iop_rec_text *rec)
{
	uint32_t pid = text_number_or_zero(rec, "pid");
	struct process *process;

	HASH_FIND(hh, r->processes, &pid, sizeof(pid), process);
	if (process && process->replaced && r->model->processes.v[process->group].begin_ns > text_number_or_zero(rec, "since_ns"))
		return NULL;    /* some may be of the process that had the number before */
	return process;
}

static struct model_excluded_part *excluded_calls_part(struct replay *r, const struct process *process, uint32_t entry)
{
	struct model_process *life = &r->model->processes.v[process->group];
	struct model_excluded_part *part;

	for (uint32_t i = life->excluded; i; i = part->next) {
		part = &r->model->excluded_parts.v[i - 1];
		if (part->entry == entry)
			return part;
	}
	part = MODEL_ADD(r->model->excluded_parts);
	if (!part)
		return NULL;
	*part = (struct model_excluded_part){ .entry = entry, .group = process->group, .next = life->excluded };
	life->excluded = r->model->excluded_parts.n;
	return part;
}

int excluded_calls_record(struct replay *r, const struct iop_rec_text *rec)
{
	struct process *process = excluded_calls_process(r, rec);
	char filter[8192] = "?", layer[64] = "";
	struct model_excluded *sum;
	struct model_excluded_part *part;
	uint64_t calls = 0;

	text_value(rec, "filter", filter, sizeof(filter));
	text_value(rec, "layer", layer, sizeof(layer));
	sum = excluded_calls_entry(r, filter, layer);
	if (!sum)
		return -ENOMEM;
	sum->whole |= layer[0] && !text_number(rec, "calls", &calls);
	sum->calls += calls;
	sum->read_bytes += text_number_or_zero(rec, "read_bytes");
	sum->written_bytes += text_number_or_zero(rec, "written_bytes");
	sum->unknown += text_number_or_zero(rec, "unknown");
	sum->time_ns += text_number_or_zero(rec, "time_ns");
	if (!process || !calls)
		return 0;
	part = excluded_calls_part(r, process, sum - r->model->excluded.v);
	if (!part)
		return -ENOMEM;
	part->calls += calls;
	part->read_bytes += text_number_or_zero(rec, "read_bytes");
	part->written_bytes += text_number_or_zero(rec, "written_bytes");
	part->unknown += text_number_or_zero(rec, "unknown");
	part->time_ns += text_number_or_zero(rec, "time_ns");
	return 0;
}
