/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The static facts of the model: each once per file, layer, object and name, with its different values. Handles whose file
 * is not yet known have facts of their own until the end.
 */
#include "replay/facts/kept.h"
#include "replay/facts/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_MAX 16384

struct fact_entry {
	uint32_t index;         /* in model.facts */
	uint32_t handle;        /* of which the file was not known, REF_NONE */
	UT_hash_handle hh;
	char key[];
};

static bool kept_continues(const char *value, const char *before)
{
	size_t len = strlen(before);

	return !strncmp(value, before, len) && !strncmp(value + len, ", ", 2);
}

/* Of lists that are told one by one, beginnings and wholes are one value. */
static bool kept_has_value(struct replay *r, struct model_fact *fact, const char *value, bool grows)
{
	for (unsigned i = 0; i < fact->nvalues; i++) {
		if (!strcmp(fact->values[i], value) || (grows && kept_continues(fact->values[i], value)))
			return true;
		if (!grows || !kept_continues(value, fact->values[i]))
			continue;
		fact->values[i] = model_string(r->model, value, strlen(value)) ?: fact->values[i];
		return true;
	}
	return false;
}

static int kept_add_value(struct replay *r, struct model_fact *fact, const char *value, bool grows)
{
	if (kept_has_value(r, fact, value, grows))
		return 0;
	if (fact->nvalues == MODEL_FACT_VALUES) {
		fact->more = true;
		return 0;
	}
	fact->values[fact->nvalues] = model_string(r->model, value, strlen(value));
	return fact->values[fact->nvalues] ? (fact->nvalues++, 0) : -ENOMEM;
}

static struct fact_entry *entry_new(struct replay *r, const char *key, size_t len)
{
	struct fact_entry *entry = malloc(sizeof(*entry) + len + 1);
	struct model_fact *fact = entry ? MODEL_ADD(r->model->facts) : NULL;

	if (!fact) {
		free(entry);
		return NULL;
	}
	memcpy(entry->key, key, len + 1);
	entry->index = r->model->facts.n - 1;
	memset(&entry->hh, 0, sizeof(entry->hh));
	HASH_ADD(hh, r->facts, key, len, entry);
	if (hash_added(entry))
		return entry;
	free(entry);
	return NULL;
}

int fact_keep(struct replay *r, uint32_t handle, uint32_t file, uint32_t paradigm, const char *object, const char *name,
	      const char *value, bool grows)
{
	struct fact_entry *entry;
	struct model_fact *fact;
	char *key;
	int len = asprintf(&key, "%c%u %u %s\n%s", file == REF_NONE ? 'h' : 'f', file == REF_NONE ? handle : file, paradigm, name,
			   object);

	if (len < 0)
		return -ENOMEM;
	HASH_FIND(hh, r->facts, key, len, entry);
	if (!entry && r->model->facts.n == FACTS_MAX) {
		r->model->totals.facts_beyond++;
		free(key);
		return 0;
	}
	if (!entry) {
		entry = entry_new(r, key, len);
		fact = entry ? &r->model->facts.v[entry->index] : NULL;
		if (fact) {
			entry->handle = file == REF_NONE ? handle : REF_NONE;
			*fact = (struct model_fact){ .file = file, .paradigm = paradigm,
						     .object = model_string(r->model, object, strlen(object)),
						     .name = model_string(r->model, name, strlen(name)) };
		}
		if (!fact || !fact->object || !fact->name) {
			free(key);
			return -ENOMEM;
		}
	}
	free(key);
	return kept_add_value(r, &r->model->facts.v[entry->index], value, grows);
}

/* ---- the end ---- */

static int kept_by_place(const void *a, const void *b)
{
	const struct model_fact *x = a, *y = b;
	int order;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->paradigm != y->paradigm)
		return x->paradigm < y->paradigm ? -1 : 1;
	order = strcmp(x->object, y->object);
	return order ? order : strcmp(x->name, y->name);
}

/* Facts of several handles on one file become one. */
static int kept_unite(struct replay *r)
{
	struct model_fact *v = r->model->facts.v;
	size_t kept = 0;
	int ret = 0;

	for (size_t i = 0; i < r->model->facts.n && !ret; i++) {
		if (v[i].file == REF_NONE) {
			r->model->totals.facts_beyond++;
			continue;
		}
		if (!kept || kept_by_place(&v[kept - 1], &v[i])) {
			v[kept++] = v[i];
			continue;
		}
		for (unsigned j = 0; j < v[i].nvalues && !ret; j++)
			ret = kept_add_value(r, &v[kept - 1], v[i].values[j], false);
		v[kept - 1].more |= v[i].more;
	}
	r->model->facts.n = kept;
	return ret;
}

int static_facts_finish(struct replay *r)
{
	struct model_fact *v = r->model->facts.v;

	for (const struct fact_entry *entry = r->facts; entry; entry = entry->hh.next)
		if (entry->handle != REF_NONE)
			v[entry->index].file = r->model->handles.v[entry->handle].file;
	if (r->model->facts.n)
		qsort(v, r->model->facts.n, sizeof(*v), kept_by_place);
	static_facts_free(r);          /* their indexes have changed */
	return kept_unite(r);
}

void static_facts_free(struct replay *r)
{
	struct fact_entry *entry, *next;

	HASH_ITER(hh, r->facts, entry, next) {
		HASH_DEL(r->facts, entry);
		free(entry);
	}
}
