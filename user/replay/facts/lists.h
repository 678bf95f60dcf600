/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lists of properties that programs make before they use them: property lists by id, sets of hints. Facts are set on a list
 * by calls, and become facts of what is made with it.
 */
#ifndef IOPROBE_REPLAY_FACTS_LISTS_H
#define IOPROBE_REPLAY_FACTS_LISTS_H

#include "replay/state.h"

#define FACT_DOMAIN_INFO UINT32_MAX     /* sets of hints are known to all layers; property lists to their own */

struct fact_set { char *name, *value; bool added; };    /* added: one of several values, complete only in a whole list */

struct fact_list {
	struct object_key key;          /* its id, in layer or FACT_DOMAIN_INFO */
	bool whole;                     /* everything that was set on it is known */
	struct object *origin;          /* it was asked of this handle: what the list says is true of it; NULL */
	struct fact_set *v;
	size_t n, cap;
	UT_hash_handle hh;
};

struct fact_list *fact_list_find(struct process *process, uint32_t domain, uint64_t value);
/* The list of an id; a new one if it is unknown. NULL without memory. */
struct fact_list *fact_list_get(struct process *process, uint32_t domain, uint64_t value);
/* A new list, which replaces any of the same id. NULL without memory. */
struct fact_list *fact_list_new(struct process *process, uint32_t domain, uint64_t value);
void fact_list_forget(struct process *process, uint32_t domain, uint64_t value);
void fact_list_free(struct fact_list *list);            /* one that is in no process */
void fact_lists_free(struct process *process);

/* NULL if the list does not have it. */
const struct fact_set *fact_list_value(const struct fact_list *list, const char *name);
/* Sets a value, or adds one to those of this name. Return 0 or -ENOMEM. */
int fact_list_set(struct fact_list *list, const char *name, const char *value);
int fact_list_add(struct fact_list *list, const char *name, const char *value);
void fact_list_drop(struct fact_list *list, const char *name);
int fact_list_copy(struct fact_list *to, const struct fact_list *from);

#endif
