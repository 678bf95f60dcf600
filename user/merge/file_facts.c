/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of the merged files: a file that nodes share has those of all of them.
 */
#include "merge/file_facts.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR " | "

/* Whether one of the values is this one. */
static bool file_facts_has_value(const char *values, const char *value, size_t len)
{
	const char *end;

	for (const char *at = values; at; at = end ? end + strlen(SEPARATOR) : NULL) {
		end = strstr(at, SEPARATOR);
		if ((end ? (size_t)(end - at) : strlen(at)) == len && !memcmp(at, value, len))
			return true;
	}
	return false;
}

/* Adds those values that are new. Returns false without memory. */
static bool add_values(struct file_fact *to, const char *values)
{
	const char *end;

	for (const char *at = values; at; at = end ? end + strlen(SEPARATOR) : NULL) {
		size_t len, used = strlen(to->values);
		char *longer;

		end = strstr(at, SEPARATOR);
		len = end ? (size_t)(end - at) : strlen(at);
		if (file_facts_has_value(to->values, at, len))
			continue;
		longer = realloc(to->values, used + strlen(SEPARATOR) + len + 1);
		if (!longer)
			return false;
		memcpy(longer + used, SEPARATOR, strlen(SEPARATOR));
		memcpy(longer + used + strlen(SEPARATOR), at, len);
		longer[used + strlen(SEPARATOR) + len] = 0;
		to->values = longer;
	}
	return true;
}

static int by_file(const void *a, const void *b)
{
	const struct file_fact *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Unites facts of one name; returns their number, or SIZE_MAX without memory (all values are still owned). */
static size_t file_facts_unite(struct file_fact *facts, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct file_fact one = facts[i];

		if (!kept || by_file(&facts[kept - 1], &one)) {
			facts[i].values = NULL;
			facts[kept++] = one;
			continue;
		}
		if (!add_values(&facts[kept - 1], one.values))
			return SIZE_MAX;
		free(one.values);
		facts[i].values = NULL;
	}
	return kept;
}

struct file_fact *file_facts_new(const struct merge *m, size_t *n)
{
	size_t total = 0, kept = 0;
	struct file_fact *facts;
	bool ok = true;

	for (size_t node = 0; node < m->nnodes; node++)
		total += m->nodes[node].file_facts.n;
	facts = calloc(total + 1, sizeof(*facts));
	for (size_t node = 0, at = 0; facts && node < m->nnodes; node++)
		for (size_t i = 0; i < m->nodes[node].file_facts.n; i++) {
			const struct node_file_fact *fact = &m->nodes[node].file_facts.v[i];

			facts[at] = (struct file_fact){ m->maps[node].files[fact->file], node_string(&m->nodes[node], fact->name),
							strdup(node_string(&m->nodes[node], fact->value)) };
			ok &= facts[at++].values != NULL;
		}
	if (facts && ok) {
		qsort(facts, total, sizeof(*facts), by_file);
		kept = file_facts_unite(facts, total);
	}
	if (facts && ok && kept != SIZE_MAX) {
		*n = kept;
		return facts;
	}
	if (facts)
		file_facts_free(facts, total);
	return NULL;
}

void file_facts_free(struct file_fact *facts, size_t n)
{
	for (size_t i = 0; facts && i < n; i++)
		free(facts[i].values);
	free(facts);
}

/* ---- stripes ---- */

/* Returns false if both are known and differ. */
static bool file_stripes_add(uint64_t *known, uint64_t value)
{
	if (!*known)
		*known = value;
	return !value || *known == value;
}

struct file_stripes *file_stripes_new(const struct merge *m)
{
	struct file_stripes *stripes = calloc(m->nfiles + 1, sizeof(*stripes));

	for (size_t n = 0; stripes && n < m->nnodes; n++)
		for (size_t i = 0; i < m->nodes[n].files.n; i++) {
			const struct node_file *file = &m->nodes[n].files.v[i];
			struct file_stripes *one = &stripes[m->maps[n].files[i]];

			one->bytes_differ |= !file_stripes_add(&one->bytes, file->stripe_bytes);
			one->count_differs |= !file_stripes_add(&one->count, file->stripe_count);
		}
	for (uint32_t i = 0; stripes && i < m->nfiles; i++) {
		stripes[i].bytes = stripes[i].bytes_differ ? 0 : stripes[i].bytes;
		stripes[i].count = stripes[i].count_differs ? 0 : stripes[i].count;
	}
	return stripes;
}
