/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of a file in the summary: with all values that its handles had.
 */
#include "sink/summary/summary_facts.h"
#include "util/json_text.h"

static json_t *fact_json(const struct model *m, const struct model_fact *fact)
{
	json_t *o = json_object(), *values = json_array();
	int error = json_object_set_new(o, "layer", json_text(m->paradigms.v[fact->paradigm].identification)) |
		    json_object_set_new(o, "object", fact->object[0] ? json_text(fact->object) : json_null()) |
		    json_object_set_new(o, "name", json_text(fact->name));

	for (unsigned i = 0; i < fact->nvalues; i++)
		error |= json_array_append_new(values, json_text(fact->values[i]));
	error |= json_object_set_new(o, "values", values) | json_object_set_new(o, "more_values", json_boolean(fact->more));
	if (!error)
		return o;
	json_decref(o);
	return NULL;
}

/* The first one of a file; the facts are sorted by file. */
static size_t first_fact(const struct model *m, uint32_t file)
{
	size_t low = 0, high = m->facts.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->facts.v[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

json_t *summary_facts_json(const struct model *m, uint32_t file)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = file == REF_NONE ? m->facts.n : first_fact(m, file); i < m->facts.n && m->facts.v[i].file == file; i++)
		error |= json_array_append_new(array, fact_json(m, &m->facts.v[i]));
	if (!error)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *stripes_number(uint64_t n)
{
	return n ? json_integer(n) : json_null();
}

int summary_put_stripes(json_t *o, const struct model_stripes *s)
{
	return json_object_set_new(o, "stripe_size", stripes_number(s->bytes)) |
	       json_object_set_new(o, "stripe_count", stripes_number(s->count)) |
	       json_object_set_new(o, "stripe_devices", json_text(s->devices)) |
	       json_object_set_new(o, "stripe_pool", json_text(s->pool)) |
	       json_object_set_new(o, "stripe_components", json_text(s->components));
}
