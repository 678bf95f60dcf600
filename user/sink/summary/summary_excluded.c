/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What filters excluded, in the summary: by option and layer, and the same for each process.
 */
#include "sink/summary/summary_excluded.h"
#include "util/json_text.h"

static int put_excluded_counts(json_t *o, uint64_t calls, uint64_t bytes_read, uint64_t bytes_written, uint64_t unknown,
			       uint64_t time_ns)
{
	return json_object_set_new(o, "calls", json_integer((json_int_t)calls)) |
	       json_object_set_new(o, "bytes_read", json_integer((json_int_t)bytes_read)) |
	       json_object_set_new(o, "bytes_written", json_integer((json_int_t)bytes_written)) |
	       json_object_set_new(o, "calls_of_unknown_size", json_integer((json_int_t)unknown)) |
	       json_object_set_new(o, "time_ns", json_integer((json_int_t)time_ns));
}

int summary_put_excluded(json_t *object, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->excluded.n && !error; i++) {
		const struct model_excluded *l = &m->excluded.v[i];
		json_t *o = json_object();

		error = json_object_set_new(o, "filter", json_text(l->filter)) |
			json_object_set_new(o, "layer", json_text(l->layer)) |
			json_object_set_new(o, "whole_layer", json_boolean(l->whole));
		if (!l->whole)
			error |= put_excluded_counts(o, l->calls, l->read_bytes, l->written_bytes, l->unknown, l->time_ns);
		error |= json_array_append_new(array, o);
	}
	return json_object_set_new(object, "left_out", array) | error;
}

int summary_put_process_excluded(json_t *object, const struct model *m, size_t group)
{
	uint32_t at = group < m->processes.n ? m->processes.v[group].excluded : 0;
	json_t *array = at ? json_array() : NULL;
	int error = 0;

	if (!at)
		return 0;
	for (; at && !error; at = m->excluded_parts.v[at - 1].next) {
		const struct model_excluded_part *part = &m->excluded_parts.v[at - 1];
		const struct model_excluded *l = &m->excluded.v[part->entry];
		json_t *o = json_object();

		error = json_object_set_new(o, "filter", json_text(l->filter)) |
			json_object_set_new(o, "layer", json_text(l->layer)) |
			put_excluded_counts(o, part->calls, part->read_bytes, part->written_bytes, part->unknown, part->time_ns) |
			json_array_append_new(array, o);
	}
	return json_object_set_new(object, "left_out", array) | error;
}
