/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of an archive's files, by name.
 */
#include "trace/file_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int trace_facts_by_name(const void *a, const void *b)
{
	const struct trace_fact *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return strcmp(x->name, y->name);
}

void trace_facts_sort(struct trace *trace)
{
	if (trace->facts.n)
		qsort(trace->facts.v, trace->facts.n, sizeof(*trace->facts.v), trace_facts_by_name);
}

const struct trace_fact *trace_facts_of(const struct trace *trace, uint32_t file, size_t *n)
{
	size_t low = 0, high = trace->facts.n, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->facts.v[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < trace->facts.n && trace->facts.v[end].file == file; end++)
		;
	*n = end - low;
	return *n ? &trace->facts.v[low] : NULL;
}

const char *trace_fact_value(const struct trace *trace, uint32_t file, const char *layer, const char *object, const char *fact)
{
	const struct trace_fact *found;
	struct trace_fact key = { .file = file };
	char *name;

	if (!trace->facts.n || asprintf(&name, "%s%s%s: %s", layer, object[0] ? " " : "", object, fact) < 0)
		return NULL;
	key.name = name;
	found = bsearch(&key, trace->facts.v, trace->facts.n, sizeof(key), trace_facts_by_name);
	free(name);
	return found ? found->value : NULL;
}

bool trace_fact_is(const struct trace_fact *fact, const char *end)
{
	size_t len = strlen(fact->name), wanted = strlen(end);

	return len >= wanted && !strcmp(fact->name + len - wanted, end);
}
