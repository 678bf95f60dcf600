/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Property lists and sets of hints: creation, look-up, values. Their number is bounded: the oldest one is forgotten.
 */
#include "replay/facts/lists.h"
#include "replay/library/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTS_MAX 4096          /* of a process */
#define VALUES_MAX 256          /* of a list */

/* ---- lists ---- */

void fact_list_free(struct fact_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++) {
		free(list->v[i].name);
		free(list->v[i].value);
	}
	object_release(list->origin);
	free(list->v);
	free(list);
}

struct fact_list *fact_list_find(struct process *process, uint32_t domain, uint64_t value)
{
	struct object_key key = { .value = value, .layer = domain };
	struct fact_list *list;

	HASH_FIND(hh, process->fact_lists, &key, sizeof(key), list);
	return list;
}

void fact_list_forget(struct process *process, uint32_t domain, uint64_t value)
{
	struct fact_list *list = fact_list_find(process, domain, value);

	if (list)
		HASH_DEL(process->fact_lists, list);
	fact_list_free(list);
}

static void lists_forget_oldest(struct process *process)
{
	struct fact_list *oldest = process->fact_lists;

	if (HASH_COUNT(process->fact_lists) < LISTS_MAX)
		return;
	process->fact_lists_dropped = true;
	HASH_DEL(process->fact_lists, oldest);
	fact_list_free(oldest);
}

struct fact_list *fact_list_new(struct process *process, uint32_t domain, uint64_t value)
{
	struct fact_list *list = calloc(1, sizeof(*list));

	fact_list_forget(process, domain, value);
	lists_forget_oldest(process);
	if (!list)
		return NULL;
	list->key = (struct object_key){ .value = value, .layer = domain };
	HASH_ADD(hh, process->fact_lists, key, sizeof(list->key), list);
	if (hash_added(list))
		return list;
	free(list);
	return NULL;
}

struct fact_list *fact_list_get(struct process *process, uint32_t domain, uint64_t value)
{
	struct fact_list *list = fact_list_find(process, domain, value);

	if (list)
		return list;
	list = fact_list_new(process, domain, value);
	/* In a process that was observed from its start, calls that make lists with other than initial properties were recorded. */
	if (list && domain != FACT_DOMAIN_INFO)
		list->whole = process->from_start && !process->fact_lists_dropped;
	return list;
}

void fact_lists_free(struct process *process)
{
	struct fact_list *list, *next;

	HASH_ITER(hh, process->fact_lists, list, next) {
		HASH_DEL(process->fact_lists, list);
		fact_list_free(list);
	}
}

/* ---- values ---- */

static struct fact_set *lists_value_find(const struct fact_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i].name, name))
			return &list->v[i];
	return NULL;
}

const struct fact_set *fact_list_value(const struct fact_list *list, const char *name)
{
	return lists_value_find(list, name);
}

static struct fact_set *value_new(struct fact_list *list, const char *name)
{
	struct fact_set *set;

	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 4;

		set = reallocarray(list->v, cap, sizeof(*set));
		if (!set)
			return NULL;
		list->v = set;
		list->cap = cap;
	}
	set = &list->v[list->n];
	*set = (struct fact_set){ .name = strdup(name) };
	list->n += set->name != NULL;
	return set->name ? set : NULL;
}

/* Beyond the bound the list is no longer whole. */
static int value_put(struct fact_list *list, const char *name, const char *value, bool added)
{
	struct fact_set *set = lists_value_find(list, name);
	char *copy;

	if (!set && list->n == VALUES_MAX) {
		list->whole = false;
		return 0;
	}
	copy = strdup(value);
	if (!set && copy)
		set = value_new(list, name);
	if (!set || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(set->value);
	set->value = copy;
	set->added = added;
	return 0;
}

int fact_list_set(struct fact_list *list, const char *name, const char *value)
{
	return value_put(list, name, value, false);
}

int fact_list_add(struct fact_list *list, const char *name, const char *value)
{
	const struct fact_set *set = lists_value_find(list, name);
	char text[256];

	if (!set || !set->value)
		return value_put(list, name, value, true);
	if (snprintf(text, sizeof(text), "%s, %s", set->value, value) >= (int)sizeof(text))
		list->whole = false;
	return value_put(list, name, text, true);
}

void fact_list_drop(struct fact_list *list, const char *name)
{
	struct fact_set *set = lists_value_find(list, name);

	if (!set)
		return;
	free(set->name);
	free(set->value);
	*set = list->v[--list->n];
}

int fact_list_copy(struct fact_list *to, const struct fact_list *from)
{
	int ret = 0;

	for (size_t i = 0; i < from->n && !ret; i++)
		if (from->v[i].value)
			ret = value_put(to, from->v[i].name, from->v[i].value, from->v[i].added);
	return ret;
}
