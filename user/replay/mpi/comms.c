/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Communicators: which of a process' values are MPI_COMM_WORLD, MPI_COMM_SELF or derived from them (derived_comms.c); and handles
 * that the members of a communicator open together, which share one definition.
 */
#include "replay/mpi/comms.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/mpi/derived_comms.h"
#include "replay/mpi/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* There is one world per job, and one self. */
static uint32_t comm_get(struct replay *r, uint32_t group, bool self)
{
	struct job *job = self ? NULL : job_of(r, group);
	uint32_t *ref = self ? &r->self : job ? &job->world : NULL;
	struct model_comm *comm;

	if (!ref)
		return REF_NONE;
	if (*ref != REF_NONE)
		return *ref;
	comm = MODEL_ADD(r->model->comms);
	if (!comm)
		return REF_NONE;
	comm->name = self ? "MPI_COMM_SELF" : "MPI_COMM_WORLD";
	comm->kind = self ? COMM_KIND_SELF : COMM_KIND_WORLD;
	return *ref = r->model->comms.n - 1;
}

bool comm_is_shared(const struct replay *r, uint32_t comm)
{
	return comm != REF_NONE && r->model->comms.v[comm].kind != COMM_KIND_SELF;
}

/* Communicators that are 32-bit numbers use only the low half of the register. */
static uint64_t comms_narrowed(const struct process *process, uint64_t value)
{
	return process->narrow_comms ? value & UINT32_MAX : value;
}

static struct comm_value *comms_value_find(struct process *process, uint64_t value)
{
	struct comm_value *known;

	value = comms_narrowed(process, value);
	HASH_FIND(hh, process->comms, &value, sizeof(value), known);
	return known;
}

static void value_forget(struct process *process, uint64_t value)
{
	struct comm_value *known = comms_value_find(process, value);

	if (known) {
		HASH_DEL(process->comms, known);
		free(known);
	}
}

static int value_set(struct process *process, uint64_t value, uint32_t context)
{
	struct comm_value *known = comms_value_find(process, value);

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		known->value = comms_narrowed(process, value);
		HASH_ADD(hh, process->comms, value, sizeof(known->value), known);
		if (!hash_added(known)) {
			free(known);
			return -ENOMEM;
		}
	}
	known->context = context;
	return 0;
}

int comm_known(struct replay *r, struct process *process, uint64_t value, enum table_comm_kind kind)
{
	(void)r;
	process->narrow_comms |= value <= UINT32_MAX;
	process->knows_null |= kind == TABLE_COMM_NULL;
	return value_set(process, value, kind);
}

/* Returns the predefined communicator whose handle is this 32-bit number; REF_NONE if there is none. */
static uint32_t comm_constant(const struct replay *r, uint64_t value)
{
	for (size_t l = 0; l < r->set.nlayers; l++) {
		const struct table_layer *layer = &r->set.layers[l];

		for (size_t i = 0; i < layer->ncomms; i++)
			if (layer->comms[i].has_value && (uint32_t)value == layer->comms[i].value)
				return layer->comms[i].kind;
	}
	return REF_NONE;
}

/* Only a process with a unique rank can be a member of the world that is defined. */
static bool is_member(const struct replay *r, const struct process *process)
{
	const struct group_info *info = &r->infos.v[process->group];

	return info->mpi && info->rank >= 0;
}

static uint32_t comm_of(struct replay *r, struct process *process, uint64_t value)
{
	struct comm_value *known = comms_value_find(process, value);
	uint32_t context = known ? known->context : process->comms ? REF_NONE : comm_constant(r, value), ref;

	if (context == REF_NONE || context == CONTEXT_NULL || !is_member(r, process))
		return REF_NONE;
	if (context < CONTEXT_OTHERS)
		return comm_get(r, process->group, context == CONTEXT_SELF);
	ref = derived_comm_ref(r, context);
	return ref == COMMUNITY_WORLD ? comm_get(r, process->group, false) : ref;
}

/* ---- calls ---- */

/* The handle of an enclosing call is opened over the same communicator, if its library supports that. */
static void comms_hand_up(struct replay *r, struct thread *thread, unsigned index, uint32_t comm)
{
	while (index--) {
		struct frame *f = &thread->frames[index];

		if (!f->makes || f->ref != REF_NONE || f->doubtful || frame_info(r, f)->arg[ROLE_PARENT] >= 0)
			continue;
		if (!layer_parallel(r, thread->process, frame_row(r, f)->layer) || comm_is_shared(r, f->comm))
			continue;
		f->comm = comm;
	}
}

int op_comm_enter(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	int64_t value;

	if (!f->makes || !frame_arg(r, f, ROLE_COMM, &value) || !layer_parallel(r, thread->process, frame_row(r, f)->layer))
		return 0;
	f->comm = comm_of(r, thread->process, value);
	if (f->comm != REF_NONE)
		comms_hand_up(r, thread, index, f->comm);
	return 0;
}

/* From here on the process' own values are used, including the constant. */
static void adopt_constants(struct replay *r, struct process *process, uint64_t value)
{
	for (size_t l = 0; !process->comms && comm_constant(r, value) != REF_NONE && l < r->set.nlayers; l++) {
		const struct table_layer *layer = &r->set.layers[l];

		for (size_t i = 0; i < layer->ncomms; i++)
			if (layer->comms[i].has_value)
				comm_known(r, process, layer->comms[i].value, layer->comms[i].kind);
	}
}

/* Records the creation of a communicator from another one. If that one is unknown, the new value must still not be mistaken for a
 * known communicator. */
static int made_comm(struct replay *r, struct thread *thread, struct frame *f, uint64_t from)
{
	struct process *process = thread->process;
	const struct comm_value *known, *result;
	uint32_t context = REF_NONE;
	bool null;
	int64_t to;
	int ret = 0;

	adopt_constants(r, process, from);
	if (!frame_arg(r, f, ROLE_COMM_OUT, &to)) {
		process->counts_comms = false;
		return 0;
	}
	result = comms_value_find(process, to);
	null = result && result->context == CONTEXT_NULL;
	known = comms_value_find(process, from);
	if (known && known->context != CONTEXT_NULL && is_member(r, process))
		ret = derived_comm_create(r, thread, f, known->context, null, &context);
	if (ret || null)
		return ret;
	if (context != REF_NONE)
		return value_set(process, to, context);
	value_forget(process, to);
	return 0;
}

int op_comm_leave(struct replay *r, struct thread *thread, struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	bool names_one = frame_info(r, f)->arg[ROLE_COMM] >= 0;
	int64_t from;

	if (row->op != OP_COMM && row->op != OP_CLOSE)
		return 0;
	if (f->failed || f->abandoned || (names_one && !frame_arg(r, f, ROLE_COMM, &from))) {
		thread->process->counts_comms &= row->op != OP_COMM;
		return 0;
	}
	if (row->op == OP_COMM && !names_one)   /* initialisation of the library */
		thread->process->counts_comms = true;
	else if (row->op == OP_COMM)
		return made_comm(r, thread, f, from);
	else if (names_one)
		value_forget(thread->process, from);
	return 0;
}

/* ---- unified handles ---- */

static unsigned *open_counter(struct process *process, const char *key)
{
	struct open_count *count;
	size_t len = strlen(key);

	HASH_FIND(hh, process->opens, key, len, count);
	if (!count) {
		count = calloc(1, sizeof(*count));
		if (!count)
			return NULL;
		count->key = key;
		HASH_ADD_KEYPTR(hh, process->opens, count->key, len, count);
		if (!hash_added(count)) {
			free(count);
			return NULL;
		}
	}
	return &count->n;
}

static struct unified *unified_get(struct replay *r, uint32_t paradigm, uint32_t comm, const char *path)
{
	struct unified *u;
	char *text;
	int len = asprintf(&text, "%u %u %s", paradigm, comm, path);

	if (len < 0)
		return NULL;
	HASH_FIND(hh, r->unified, text, len, u);
	if (!u) {
		u = calloc(1, sizeof(*u));
		if (u)
			u->key = model_string(r->model, text, len);
		if (!u || !u->key) {
			free(u);
			u = NULL;
		} else {
			HASH_ADD_KEYPTR(hh, r->unified, u->key, len, u);
			if (!hash_added(u)) {
				free(u);
				u = NULL;
			}
		}
	}
	free(text);
	return u;
}

uint32_t handle_unified(struct replay *r, struct process *process, const struct model_handle *def, const char *path)
{
	struct unified *u = unified_get(r, def->paradigm, def->comm, path);
	unsigned *k = u ? open_counter(process, u->key) : NULL;
	uint32_t *grown;

	if (!k)
		return REF_NONE;
	if (*k < u->n)
		return u->refs[(*k)++];
	if (u->n == u->cap) {
		grown = reallocarray(u->refs, u->cap + 16, sizeof(*grown));
		if (!grown)
			return REF_NONE;
		u->refs = grown;
		u->cap += 16;
	}
	u->refs[u->n] = handle_new(r, def);
	++*k;
	return u->refs[u->n++];
}

/* ---- the end ---- */

static int comms_by_rank(const void *a, const void *b, void *model)
{
	const struct model *m = model;
	int64_t x = m->groups.v[*(const uint32_t *)a].rank, y = m->groups.v[*(const uint32_t *)b].rank;

	return x < y ? -1 : x > y;
}

static int find_members(struct replay *r, struct job *job)
{
	struct model *model = r->model;
	struct model_comm *world = &model->comms.v[job->world];

	world->members = calloc(model->groups.n + 1, sizeof(*world->members));
	if (!world->members)
		return -ENOMEM;
	for (size_t i = 0; i < model->groups.n; i++)
		if (model->groups.v[i].rank >= 0 && model->groups.v[i].job == job->number)
			world->members[world->nmembers++] = i;
	qsort_r(world->members, world->nmembers, sizeof(*world->members), comms_by_rank, model);
	if (model->njobs > 1)
		world->name = model_stringf(model, "%s (job %u)", world->name, job->number + 1);
	return world->name ? 0 : -ENOMEM;
}

/* Every job has a world, even if no file was opened on it. */
int comms_finish(struct replay *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->model->groups.n; i++)
		if (r->model->groups.v[i].rank >= 0 && comm_get(r, i, false) == REF_NONE)
			return -ENOMEM;
	if (r->model->njobs && comm_get(r, 0, true) == REF_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < r->jobs.n && !ret; i++)
		if (r->jobs.v[i].world != REF_NONE)
			ret = find_members(r, &r->jobs.v[i]);
	return ret ? ret : derived_comms_finish(r);
}

void comms_free_process(struct process *process)
{
	struct comm_value *known, *next_known;
	struct open_count *count, *next_count;

	HASH_ITER(hh, process->comms, known, next_known) {
		HASH_DEL(process->comms, known);
		free(known);
	}
	HASH_ITER(hh, process->opens, count, next_count) {
		HASH_DEL(process->opens, count);
		free(count);
	}
	derived_comms_free_process(process);
}

void comms_free(struct replay *r)
{
	struct unified *u, *next;

	derived_comms_free(r);
	HASH_ITER(hh, r->unified, u, next) {
		HASH_DEL(r->unified, u);
		free(u->refs);
		free(u);
	}
}
