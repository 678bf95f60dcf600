/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts: which thing a call's facts are of, and how they get there.
 */
#include "replay/facts/facts.h"
#include "replay/facts/kept.h"
#include "replay/facts/lists.h"
#include "replay/facts/values.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/sizes/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HINT_GIVEN "Hint "
#define HINT_IN_USE "Hint in Use "
#define TEXT 256

/* ---- what facts are of ---- */

/* A handle, or an object inside its file. list: a property list instead. */
struct subject { struct object *object; const char *name; struct fact_list *list; };

/* grows: the value may continue the one that was told before. */
static int tell_grown(struct replay *r, struct process *process, const struct subject *of, const char *name, const char *value,
		      bool grows)
{
	uint32_t handle;

	if (!of->object)
		return 0;
	handle = object_handle(r, process, of->object);
	if (handle == REF_NONE)
		return -ENOMEM;
	if (of->object->facts_open) {
		of->object->facts_open = false;
		r->model->totals.facts_unknown--;
	}
	return fact_keep(r, handle, of->object->file, of->object->paradigm, of->name, name, value, grows);
}

static int facts_tell(struct replay *r, struct process *process, const struct subject *of, const char *name, const char *value)
{
	return tell_grown(r, process, of, name, value, false);
}

/* The name of a dataset inside its file; "" for a file. */
static const char *name_inside(const struct object *object)
{
	if (!object->inner)
		return object->root ? "" : object->name;
	return object->inner[0] == '/' ? object->inner + 1 : object->inner;
}

static const char *variable_name(const struct replay *r, const struct frame *f, char *text, size_t len)
{
	uint32_t name = shape_variable(r, f);
	int64_t variable;

	if (name)
		return r->model->names.v[name - 1];
	if (!frame_arg(r, f, ROLE_VARIABLE, &variable))
		return NULL;
	snprintf(text, len, "variable %lld", (long long)variable);
	return variable == -1 ? "" : text;      /* NC_GLOBAL: the file itself */
}

/* ---- the facts of one call ---- */

/* A fact that holds only with another one's value does not hold if the call, or the list, gives that one another value. */
static bool facts_excluded(const struct replay *r, const struct thread *thread, const struct frame *f,
			   const struct table_fact *fact)
{
	const struct table_row *row = frame_row(r, f);
	char text[TEXT];

	for (int i = 0; fact->only_fact[0] && i < row->nargs; i++) {
		const struct table_arg *arg = &row->args[i];

		if (arg->role == ROLE_FACT && arg->capture >= 0 &&
		    !strcmp(frame_layer(r, f)->facts[arg->fact].name, fact->only_fact))
			return fact_value(r, thread, f, arg, text, sizeof(text)) && strcmp(text, fact->only_value);
	}
	return false;
}

typedef int (*teller)(struct replay *r, struct thread *thread, const struct subject *of, const char *name, const char *value,
		      bool adds);

static int tell_arguments(struct replay *r, struct thread *thread, const struct frame *f, const struct subject *of, teller teller)
{
	const struct table_row *row = frame_row(r, f);
	const struct table_layer *layer = frame_layer(r, f);
	char text[TEXT];
	int ret = 0;

	for (int i = 0; i < row->nargs && !ret; i++) {
		const struct table_arg *arg = &row->args[i];

		if (arg->role != ROLE_FACT || arg->capture < 0 || (row->said == SAID_ADDS && arg->fact == row->said_fact))
			continue;
		if (!facts_excluded(r, thread, f, &layer->facts[arg->fact]) && fact_value(r, thread, f, arg, text, sizeof(text)))
			ret = teller(r, thread, of, layer->facts[arg->fact].title, text, false);
	}
	return ret;
}

/* The row's word; "-": the argument that has the fact. */
static bool added_value(const struct replay *r, const struct thread *thread, const struct frame *f, char *text, size_t len)
{
	const struct table_row *row = frame_row(r, f);

	snprintf(text, len, "%s", row->said_text);
	for (int i = 0; i < row->nargs && !strcmp(row->said_text, "-"); i++)
		if (row->args[i].role == ROLE_FACT && row->args[i].capture >= 0 && row->args[i].fact == row->said_fact)
			return fact_value(r, thread, f, &row->args[i], text, len);
	return true;
}

static int tell_said(struct replay *r, struct thread *thread, const struct frame *f, const struct subject *of, teller teller)
{
	const struct table_row *row = frame_row(r, f);
	const struct table_fact *fact = &frame_layer(r, f)->facts[row->said_fact];
	char text[TEXT];

	switch (row->said) {
	case SAID_SETS:
		return teller(r, thread, of, fact->title, row->said_text, false);
	case SAID_ADDS:
		return added_value(r, thread, f, text, sizeof(text)) ? teller(r, thread, of, fact->title, text, true) : 0;
	case SAID_GIVES:
	case SAID_INCLUDES:
		fact_number(fact, row->result_int ? (int32_t)f->ret : f->ret, text, sizeof(text));
		return teller(r, thread, of, fact->title, text, row->said == SAID_INCLUDES);
	case SAID_FORGETS:
		if (of->list) {
			fact_list_drop(of->list, fact->title);
			of->list->whole = false;
		}
		/* fall through */
	default:
		return 0;
	}
}

/* ---- facts of handles and variables ---- */

static int on_object(struct replay *r, struct thread *thread, const struct subject *of, const char *name, const char *value,
	             bool adds)
{
	(void)adds;
	return facts_tell(r, thread->process, of, name, value);
}

static int object_facts(struct replay *r, struct thread *thread, const struct frame *f)
{
	char text[32];
	struct subject of = { .object = f->object, .name = "" };
	int ret;

	if (frame_info(r, f)->arg[ROLE_VARIABLE] >= 0)
		of.name = variable_name(r, f, text, sizeof(text));
	else if (f->object)
		of.name = name_inside(f->object);
	if (!of.object || !of.name)
		return 0;
	ret = tell_arguments(r, thread, f, &of, on_object);
	return ret ? ret : tell_said(r, thread, f, &of, on_object);
}

/* ---- facts of lists ---- */

static int on_list(struct replay *r, struct thread *thread, const struct subject *of, const char *name, const char *value,
	           bool adds)
{
	const struct fact_set *known = fact_list_value(of->list, name);
	int ret = 0;

	if (!adds)
		ret = fact_list_set(of->list, name, value);
	else if (!of->list->origin || !known || !strstr(known->value, value))  /* asked again */
		ret = fact_list_add(of->list, name, value);
	known = fact_list_value(of->list, name);
	return ret || !known ? ret : tell_grown(r, thread->process, of, name, known->value, adds);
}

static uint64_t info_value(const struct process *process, int64_t value)
{
	return process->narrow_comms ? (uint64_t)value & UINT32_MAX : (uint64_t)value;
}

static struct fact_list *list_of(const struct replay *r, struct process *process, const struct frame *f, enum table_role role)
{
	bool info = role == ROLE_INFO || role == ROLE_INFO_OUT;
	int64_t value;

	if (!frame_arg(r, f, role, &value))
		return NULL;
	return fact_list_get(process, info ? FACT_DOMAIN_INFO : frame_row(r, f)->layer,
			     info ? info_value(process, value) : (uint64_t)value);
}

/* A list that was asked of a handle tells of that handle. */
static struct subject subject_of_list(struct fact_list *list)
{
	return (struct subject){ .object = list->origin, .name = list->origin ? name_inside(list->origin) : "", .list = list };
}

/* MPI_Info_set, MPI_Info_get, MPI_Info_delete */
static int hint_facts(struct replay *r, struct thread *thread, const struct frame *f, struct fact_list *list)
{
	struct str hint = frame_string(r, f, ROLE_HINT), value = frame_string(r, f, ROLE_VALUE);
	struct subject of = subject_of_list(list);
	char name[TEXT], text[TEXT];
	int64_t done = 1;

	if (!hint.p)
		return 0;
	snprintf(name, sizeof(name), "%s%.*s", list->origin ? HINT_IN_USE : HINT_GIVEN, (int)hint.len, hint.p);
	if (frame_row(r, f)->mods & MOD_NONE) {
		fact_list_drop(list, name);
		return 0;
	}
	if (frame_info(r, f)->arg[ROLE_DONE] >= 0 && (!list->origin || !frame_arg(r, f, ROLE_DONE, &done)))
		return 0;       /* a question about hints that the program has made itself */
	if (done && !value.p)
		return 0;
	snprintf(text, sizeof(text), "%.*s", done ? (int)value.len : 7, done ? value.p : "not set");
	return list->origin ? facts_tell(r, thread->process, &of, name, text) : fact_list_set(list, name, text);
}

static int list_facts(struct replay *r, struct thread *thread, const struct frame *f, struct fact_list *list)
{
	struct subject of = subject_of_list(list);
	struct fact_list *info = list_of(r, thread->process, f, ROLE_INFO);
	int ret = tell_arguments(r, thread, f, &of, on_list);

	if (!ret)
		ret = tell_said(r, thread, f, &of, on_list);
	return ret || !info ? ret : fact_list_copy(list, info);
}

/* A new list: a copy of another one, or asked of a handle, or empty. */
static int list_made(struct replay *r, struct thread *thread, const struct frame *f, uint32_t domain, uint64_t value)
{
	enum table_role role = domain == FACT_DOMAIN_INFO ? ROLE_INFO :
			       frame_row(r, f)->result == RESULT_TRANSFER ? ROLE_TRANSFER : ROLE_LIST;
	struct fact_list *from = list_of(r, thread->process, f, role), *list = calloc(1, sizeof(*list));
	int ret = list ? 0 : -ENOMEM;

	/* the copy first: the new list may take the place of the one that it is made of */
	if (!ret && from) {
		list->whole = from->whole;
		ret = fact_list_copy(list, from);
	}
	from = ret ? NULL : fact_list_new(thread->process, domain, value);
	if (from) {
		from->whole = frame_info(r, f)->arg[role] >= 0 ? list->whole : domain == FACT_DOMAIN_INFO && !f->object;
		ret = fact_list_copy(from, list);
		from->origin = f->object;
		if (f->object)
			f->object->holders++;
	} else if (!ret) {
		ret = -ENOMEM;
	}
	fact_list_free(list);
	return ret;
}

/* ---- facts of a handle that is being made by an outer call ---- */

static int pending_facts(struct replay *r, struct thread *thread, unsigned index)
{
	const struct frame *f = &thread->frames[index];
	const struct table_row *row = frame_row(r, f);
	const struct table_fact *fact;

	if (row->said != SAID_SETS)
		return 0;
	fact = &frame_layer(r, f)->facts[row->said_fact];
	while (index--) {
		struct frame *outer = &thread->frames[index];

		if (outer->doubtful)
			return 0;
		if (!outer->makes || table_fact_find(frame_layer(r, outer), fact->name) < 0)
			continue;
		if (!outer->facts && !(outer->facts = calloc(1, sizeof(*outer->facts))))
			return -ENOMEM;
		return fact_list_set(outer->facts, fact->title, row->said_text);
	}
	return 0;
}

int static_facts_leave(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct row_info *info = frame_info(r, f);
	struct process *process = thread->process;
	struct fact_list *list;
	int64_t value;

	if (info->makes)
		return 0;       /* static_facts_made */
	if (info->arg[ROLE_INFO_OUT] >= 0)
		return frame_arg(r, f, ROLE_INFO_OUT, &value) ?
			       list_made(r, thread, f, FACT_DOMAIN_INFO, info_value(process, value)) : 0;
	if (frame_row(r, f)->result == RESULT_LIST || frame_row(r, f)->result == RESULT_TRANSFER)
		return list_made(r, thread, f, frame_row(r, f)->layer, f->ret);
	if (info->arg[ROLE_LIST] >= 0) {
		list = list_of(r, process, f, ROLE_LIST);
		return list ? list_facts(r, thread, f, list) : 0;
	}
	list = info->arg[ROLE_INFO] >= 0 ? list_of(r, process, f, ROLE_INFO) : NULL;
	if (list && info->arg[ROLE_HINT] >= 0)
		return hint_facts(r, thread, f, list);
	if (list && frame_row(r, f)->mods & MOD_NONE) {
		fact_list_forget(process, FACT_DOMAIN_INFO, list->key.value);
		return 0;
	}
	if (f->object && list) {        /* MPI_File_set_info, MPI_File_set_view */
		struct subject of = { .object = f->object, .name = name_inside(f->object) };
		int ret = 0;

		for (size_t i = 0; i < list->n && !ret; i++)
			ret = facts_tell(r, process, &of, list->v[i].name, list->v[i].value);
		if (ret)
			return ret;
	}
	return info->uses ? object_facts(r, thread, f) : pending_facts(r, thread, index);
}

/* ---- what is made ---- */

static const char *set_or_initial(const struct table_fact *fact, const struct fact_list *list)
{
	const struct fact_set *set = list ? fact_list_value(list, fact->title) : NULL;

	if (set && set->value)
		return set->added && !list->whole ? NULL : set->value;
	return (!list || list->whole) && fact->initial[0] ? fact->initial : NULL;
}

static const struct table_fact *fact_named(const struct table_layer *layer, const char *name)
{
	int index = table_fact_find(layer, name);

	return index < 0 ? NULL : &layer->facts[index];
}

/* Facts of a new object from the list that says how it is made. list NULL: the library's initial one. */
static int facts_of_creation(struct replay *r, struct process *process, const struct table_layer *layer, const struct subject *of,
			     const struct fact_list *list)
{
	int ret = 0;

	for (size_t i = 0; i < layer->nfacts && !ret; i++) {
		const struct table_fact *fact = &layer->facts[i], *only = fact_named(layer, fact->only_fact);
		const char *value = set_or_initial(fact, list), *of_only = only ? set_or_initial(only, list) : NULL;

		if (value && (!of_only || !strcmp(of_only, fact->only_value)))
			ret = facts_tell(r, process, of, fact->title, value);
	}
	return ret;
}

static int copy_facts(struct replay *r, struct process *process, const struct subject *of, const struct fact_list *list)
{
	int ret = 0;

	for (size_t i = 0; list && i < list->n && !ret; i++)
		if (list->v[i].value && (!list->v[i].added || list->whole))
			ret = facts_tell(r, process, of, list->v[i].name, list->v[i].value);
	return ret;
}

/* The name "libmpi.so.40.30.4" identifies a version; "libmpi.so" or a program's name does not. */
static bool is_versioned(const char *file)
{
	const char *at = file ? strstr(file, ".so.") : NULL;

	return at && at[4] >= '0' && at[4] <= '9';
}

/* The file name and version of the library. */
static int facts_of_file(struct replay *r, const struct thread *thread, const struct library *library,
			 const struct table_fact *fact, const struct subject *of)
{
	const char *value = fact->source == FACT_OF_VERSION ? library->version : library->file;

	if (value)
		return facts_tell(r, thread->process, of, fact->title, value);
	if (fact->source == FACT_OF_VERSION && !is_versioned(library->file))
		r->model->totals.facts_unknown++;
	return 0;
}

/* Facts that every handle of the layer has. */
static int facts_of_library(struct replay *r, const struct thread *thread, const struct frame *f, const struct subject *of)
{
	const struct table_layer *layer = frame_layer(r, f);
	const struct library *library = &thread->process->libraries[frame_row(r, f)->layer];
	int ret = 0;

	for (size_t i = 0; i < layer->nfacts && !ret; i++) {
		const struct table_fact *fact = &layer->facts[i];

		if (fact->source != FACT_OF_CALLS)
			ret = facts_of_file(r, thread, library, fact, of);
		if (!fact->always)
			continue;
		if (library->narrow && fact->narrow[0])
			ret = facts_tell(r, thread->process, of, fact->title, fact->narrow);
		else if (!f->facts || !fact_list_value(f->facts, fact->title))
			r->model->totals.facts_unknown++;
	}
	return ret ? ret : copy_facts(r, thread->process, of, f->facts);
}

int static_facts_made(struct replay *r, struct thread *thread, const struct frame *f, struct object *object)
{
	const struct row_info *info = frame_info(r, f);
	struct process *process = thread->process;
	struct subject of = { .object = object, .name = name_inside(object) };
	struct fact_list *list = list_of(r, process, f, ROLE_LIST);
	bool initial = list && !list->key.value;        /* H5P_DEFAULT */
	int ret = frame_layer(r, f)->nfacts ? facts_of_library(r, thread, f, &of) : 0;

	if (initial)
		list = NULL;
	if (!ret && (list || initial))
		ret = facts_of_creation(r, process, frame_layer(r, f), &of, list);
	if (!ret && info->arg[ROLE_LIST] >= 0 && !initial && (!list || !list->whole))
		r->model->totals.facts_unknown++;
	if (!ret)
		ret = copy_facts(r, process, &of, list_of(r, process, f, ROLE_LIST2));
	if (!ret)
		ret = copy_facts(r, process, &of, list_of(r, process, f, ROLE_INFO));
	if (!ret && frame_row(r, f)->op == OP_OPEN && info->arg[ROLE_PARENT] >= 0 && info->arg[ROLE_LIST2] >= 0) {
		object->facts_open = true;
		r->model->totals.facts_unknown++;
	}
	return ret;
}
