/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Derived communicators. The creation is collective over the parent, whose members make such calls in the same order (MPI 4.0,
 * 6.4.2): the n-th call of a function on a communicator is the same creation in every process, provided that all of a process'
 * calls were recorded. The arguments determine the members: the color of a split, or the group (its size and the own rank).
 */
#include "replay/mpi/derived_comms.h"
#include "replay/frame.h"
#include "replay/mpi/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct count_key { uint32_t context; int32_t color; uint16_t probe, pad[3]; };
struct comm_count { struct count_key key; unsigned n; UT_hash_handle hh; };

/* Creations are counted per communicator, including duplicates. derived communicator: REF_NONE for duplicates of the world. */
struct comm_context { char *key; uint32_t index, derived_comm; UT_hash_handle hh; };

/* rank: in the new communicator, if the call's group contained it, else -1. */
struct member { uint32_t group; int32_t order, rank; uint64_t enter_ns, leave_ns; };

struct derived_comm {
	/* parent: derived communicator, REF_NONE for the world; ref: model comm, REF_NONE until a file is opened on it */
	uint32_t parent, ref;
	uint32_t job;
	const struct creation *creation;
	int32_t size;                   /* from its group, 0 if unknown */
	const char *name;
	bool known, partial;            /* set by communities_finish */
	MODEL_ARRAY(struct member, members);
};

/* calls: with all colors */
struct creation { char *key; unsigned calls; UT_hash_handle hh; };

struct derived_comms {
	struct comm_context *contexts;
	struct creation *creations;
	MODEL_ARRAY(struct comm_context *, context_list);
	MODEL_ARRAY(struct creation *, creation_list);
	MODEL_ARRAY(struct derived_comm *, list);
};

/* ---- tables ---- */

static struct derived_comms *derived_comms(struct replay *r)
{
	if (!r->derived_comms)
		r->derived_comms = calloc(1, sizeof(*r->derived_comms));
	return r->derived_comms;
}

static struct comm_context *context_get(struct derived_comms *c, const char *key, bool *made)
{
	struct comm_context *context, **slot;

	HASH_FIND_STR(c->contexts, key, context);
	*made = !context;
	if (context)
		return context;
	slot = MODEL_ADD(c->context_list);
	context = slot ? calloc(1, sizeof(*context)) : NULL;
	if (!context)
		return NULL;
	*slot = context;
	context->key = strdup(key);
	if (!context->key)
		return NULL;
	context->index = CONTEXT_OTHERS + c->context_list.n - 1;
	context->derived_comm = REF_NONE;
	HASH_ADD_KEYPTR(hh, c->contexts, context->key, strlen(context->key), context);
	return hash_added(context) ? context : NULL;    /* owned by the list */
}

static struct creation *creation_get(struct derived_comms *c, const char *key)
{
	struct creation *creation, **slot;

	HASH_FIND_STR(c->creations, key, creation);
	if (creation)
		return creation;
	slot = MODEL_ADD(c->creation_list);
	creation = slot ? calloc(1, sizeof(*creation)) : NULL;
	if (!creation)
		return NULL;
	*slot = creation;
	creation->key = strdup(key);
	if (!creation->key)
		return NULL;
	HASH_ADD_KEYPTR(hh, c->creations, creation->key, strlen(creation->key), creation);
	return hash_added(creation) ? creation : NULL;
}

static struct derived_comm *derived_comm_new(struct derived_comms *c)
{
	struct derived_comm **slot = MODEL_ADD(c->list), *derived_comm = slot ? calloc(1, sizeof(*derived_comm)) : NULL;

	if (!derived_comm)
		return NULL;
	*slot = derived_comm;
	derived_comm->parent = derived_comm->ref = REF_NONE;
	return derived_comm;
}

static const struct comm_context *context_of(const struct replay *r, uint32_t context)
{
	return context < CONTEXT_OTHERS ? NULL : r->derived_comms->context_list.v[context - CONTEXT_OTHERS];
}

/* ---- evaluation of a creating call ---- */

static unsigned nth_call(struct process *process, uint32_t context, uint16_t probe, int32_t color)
{
	struct count_key key = { context, color, probe, { 0 } };
	struct comm_count *count;

	HASH_FIND(hh, process->comm_counts, &key, sizeof(key), count);
	if (!count) {
		count = calloc(1, sizeof(*count));
		if (!count)
			return 0;
		count->key = key;
		HASH_ADD(hh, process->comm_counts, key, sizeof(count->key), count);
		if (!hash_added(count)) {
			free(count);
			return 0;
		}
	}
	return ++count->n;
}

/* Reads a group in Open MPI's layout: size, then own rank, which is MPI_UNDEFINED, a negative number, for a process outside the
 * group. */
static bool derived_comms_group_of(const struct replay *r, const struct thread *thread, const struct frame *f, int32_t *size,
				   int32_t *rank)
{
	int64_t value;

	if (!thread->process->libraries[frame_row(r, f)->layer].known_abi || !frame_arg(r, f, ROLE_GROUP, &value))
		return false;
	*size = value & UINT32_MAX;
	*rank = value >> 32;
	return *size >= 0 && *rank < *size;
}

struct claim { int64_t color, order; int32_t size, rank; bool member, known; };

/* Determines whether this process becomes a member, of which of the new communicators, and at which rank. */
static struct claim claim_of(const struct replay *r, const struct thread *thread, const struct frame *f, bool null)
{
	struct claim claim = { .rank = -1 };
	bool colored = frame_arg(r, f, ROLE_COLOR, &claim.color),
	     open_mpi = thread->process->libraries[frame_row(r, f)->layer].known_abi;
	int64_t reorder;

	claim.member = !null;
	/* a grid or graph: its members are the processes that get a communicator, in the parent's order if the library must not
	 * reorder them or is Open MPI */
	if (frame_info(r, f)->arg[ROLE_ARG] >= 0) {
		claim.known = frame_arg(r, f, ROLE_ARG, &reorder) && (!reorder || open_mpi) && thread->process->knows_null;
		return claim;
	}
	if (frame_info(r, f)->arg[ROLE_GROUP] >= 0) {
		claim.known = derived_comms_group_of(r, thread, f, &claim.size, &claim.rank);
		claim.member = claim.rank >= 0;
		return claim;
	}
	frame_arg(r, f, ROLE_KEY, &claim.order);
	/* of the split types only 0, Open MPI's MPI_COMM_TYPE_SHARED, makes one communicator of a node's processes */
	claim.known = colored && (!(frame_row(r, f)->mods & MOD_NODE) || claim.color < 0 || (!claim.color && open_mpi));
	claim.member = claim.color >= 0;
	return claim;
}

static int derived_comms_add_member(struct replay *r, struct thread *thread, const struct frame *f,
				    const struct comm_context *context, const struct claim *claim)
{
	struct derived_comm *derived_comm = r->derived_comms->list.v[context->derived_comm];
	struct member *member = MODEL_ADD(derived_comm->members);

	if (!member)
		return -ENOMEM;
	*member = (struct member){ thread->process->group, claim->order, claim->rank, f->enter_ns, f->leave_ns };
	if (claim->size && derived_comm->size && claim->size != derived_comm->size)
		derived_comm->size = -1;
	else if (claim->size)
		derived_comm->size = claim->size;
	return 0;
}

static int found_derived_comm(struct replay *r, struct process *process, struct comm_context *context, uint32_t parent,
			   const struct creation *creation)
{
	const char *name = strchr(context->key, ' ') + 1;
	struct derived_comm *derived_comm = derived_comm_new(r->derived_comms);
	struct job *job = job_of(r, process->group);

	if (!derived_comm || !job)
		return -ENOMEM;
	context->derived_comm = r->derived_comms->list.n - 1;
	derived_comm->parent = parent;
	derived_comm->creation = creation;
	derived_comm->job = job - r->jobs.v;
	derived_comm->name = model_string(r->model, name, strlen(name));
	return derived_comm->name ? 0 : -ENOMEM;
}

/* Returns a name of the creation that is the same in every process: the job's number and the path of creations from the world. */
static char *creation_name(struct replay *r, struct process *process, const struct frame *f, uint32_t from)
{
	const struct comm_context *parent = context_of(r, from);
	const struct job *job = job_of(r, process->group);
	int64_t tag = 0;
	bool tagged = frame_info(r, f)->arg[ROLE_GROUP] >= 0 && frame_arg(r, f, ROLE_COLOR, &tag);
	unsigned n = nth_call(process, from, f->probe, tag);
	char *name;
	int len;

	if (!job || !n)
		return NULL;
	if (parent)
		len = asprintf(&name, "%s/%s %u", parent->key, frame_row(r, f)->name, n);
	else
		len = asprintf(&name, "%zu MPI_COMM_WORLD/%s %u", (size_t)(job - r->jobs.v), frame_row(r, f)->name, n);
	if (len >= 0 && tagged) {
		char *untagged = name;

		len = asprintf(&name, "%s tag %lld", untagged, (long long)tag);
		free(untagged);
	}
	return len < 0 ? NULL : name;
}

/* A duplicate with the same members is a context of its own. */
static int derived_comms_copied(struct replay *r, uint32_t from, const char *name, uint32_t *to)
{
	const struct comm_context *parent = context_of(r, from);
	bool made;
	struct comm_context *context = context_get(r->derived_comms, name, &made);

	if (!context)
		return -ENOMEM;
	context->derived_comm = parent ? parent->derived_comm : REF_NONE;
	*to = context->index;
	return 0;
}

/* Each color of a creation makes a communicator. */
static int derived_comms_joined(struct replay *r, struct thread *thread, const struct frame *f, uint32_t from,
				const struct creation *creation, const struct claim *claim, uint32_t *to)
{
	const struct comm_context *parent = context_of(r, from);
	bool colored = frame_info(r, f)->arg[ROLE_COLOR] >= 0 && frame_info(r, f)->arg[ROLE_GROUP] < 0, made;
	struct comm_context *context;
	char *key;
	int ret = 0;

	if (asprintf(&key, colored ? "%s color %lld" : "%s", creation->key, (long long)claim->color) < 0)
		return -ENOMEM;
	context = context_get(r->derived_comms, key, &made);
	free(key);
	if (!context)
		return -ENOMEM;
	if (made)
		ret = found_derived_comm(r, thread->process, context, parent ? parent->derived_comm : REF_NONE, creation);
	*to = context->index;
	return ret ? ret : derived_comms_add_member(r, thread, f, context, claim);
}

static int derived_comms_create(struct replay *r, struct thread *thread, const struct frame *f, uint32_t from,
				const struct claim *claim, uint32_t *to)
{
	struct creation *creation;
	char *name = derived_comms(r) ? creation_name(r, thread->process, f, from) : NULL;
	int ret = 0;

	if (!name)
		return -ENOMEM;
	if (!(frame_row(r, f)->mods & MOD_PART)) {
		ret = derived_comms_copied(r, from, name, to);
	} else {
		creation = creation_get(r->derived_comms, name);
		ret = creation ? 0 : -ENOMEM;
		if (creation)
			creation->calls++;
		if (creation && claim->known && claim->member)
			ret = derived_comms_joined(r, thread, f, from, creation, claim, to);
	}
	free(name);
	return ret;
}

int derived_comm_create(struct replay *r, struct thread *thread, const struct frame *f, uint32_t from, bool null, uint32_t *to)
{
	bool part = frame_row(r, f)->mods & MOD_PART;
	struct claim claim = claim_of(r, thread, f, null);

	*to = REF_NONE;
	if (part && (!claim.known || (claim.member && from != CONTEXT_SELF && !thread->process->counts_comms)))
		r->unknown_creations++;
	if (from != CONTEXT_SELF && thread->process->counts_comms)
		return derived_comms_create(r, thread, f, from, &claim, to);
	if (!part || (from == CONTEXT_SELF && claim.known && claim.member))
		*to = from;
	return 0;
}

uint32_t derived_comm_ref(struct replay *r, uint32_t context)
{
	uint32_t index = context_of(r, context)->derived_comm;
	struct derived_comm *derived_comm;
	struct model_comm *comm;

	if (index == REF_NONE)
		return COMMUNITY_WORLD;
	derived_comm = r->derived_comms->list.v[index];
	if (derived_comm->ref != REF_NONE)
		return derived_comm->ref;
	comm = MODEL_ADD(r->model->comms);
	if (!comm)
		return REF_NONE;
	comm->name = derived_comm->name;
	comm->kind = COMM_KIND_OTHER;
	return derived_comm->ref = r->model->comms.n - 1;
}

/* ---- the end: members ---- */

/* Returns the rank of a process in the parent, -1 if it is not a member. */
static int64_t place_in(const struct replay *r, const struct derived_comm *c, uint32_t group)
{
	const struct derived_comm *parent = c->parent == REF_NONE ? NULL : r->derived_comms->list.v[c->parent];
	const struct model_group *g = &r->model->groups.v[group];

	if (!parent)
		return g->rank >= 0 && g->job == r->jobs.v[c->job].number ? g->rank : -1;
	for (size_t i = 0; i < parent->members.n; i++)
		if (parent->members.v[i].group == group)
			return i;
	return -1;
}

static size_t size_of_parent(const struct replay *r, const struct derived_comm *c)
{
	size_t n = 0;

	if (c->parent != REF_NONE)
		return r->derived_comms->list.v[c->parent]->members.n;
	for (size_t i = 0; i < r->model->groups.n; i++) {
		const struct model_group *g = &r->model->groups.v[i];

		n += g->rank >= 0 && g->job == r->jobs.v[c->job].number;
	}
	return n;
}

static bool parent_is_partial(const struct replay *r, const struct derived_comm *c)
{
	if (c->parent != REF_NONE)
		return r->derived_comms->list.v[c->parent]->partial;
	return r->jobs.v[c->job].size > size_of_parent(r, c);
}

struct sorting { const struct replay *r; const struct derived_comm *c; };

static int by_order(const void *a, const void *b, void *arg)
{
	const struct member *x = a, *y = b;
	const struct sorting *s = arg;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return place_in(s->r, s->c, x->group) < place_in(s->r, s->c, y->group) ? -1 : 1;
}

/* Checks a creation for consistency: no process leaves it before all have entered, and no process is in it twice. */
static bool is_plausible(const struct replay *r, const struct derived_comm *c)
{
	uint64_t entered = 0, left = UINT64_MAX;

	for (size_t i = 0; i < c->members.n; i++) {
		const struct member *m = &c->members.v[i];

		entered = m->enter_ns > entered ? m->enter_ns : entered;
		left = m->leave_ns < left ? m->leave_ns : left;
		if (place_in(r, c, m->group) < 0 || (c->size && m->rank >= c->size))
			return false;
		for (size_t k = 0; k < i; k++)
			if (c->members.v[k].group == m->group || (m->rank >= 0 && c->members.v[k].rank == m->rank))
				return false;
	}
	return entered <= left;
}

static void derived_comms_resolve(struct replay *r, struct derived_comm *c)
{
	struct sorting sorting = { r, c };

	if (c->parent != REF_NONE && !r->derived_comms->list.v[c->parent]->known)
		return;
	if (c->size < 0 || (c->size && c->members.n > (size_t)c->size) || !is_plausible(r, c))
		return;
	c->known = true;
	c->partial = c->size ? c->members.n < (size_t)c->size :
			       parent_is_partial(r, c) || c->creation->calls < size_of_parent(r, c);
	qsort_r(c->members.v, c->members.n, sizeof(*c->members.v), by_order, &sorting);
}

static int derived_comms_define(struct replay *r, struct derived_comm *c)
{
	struct model_comm *comm = &r->model->comms.v[c->ref];

	comm->members = calloc(c->members.n + 1, sizeof(*comm->members));
	if (!comm->members)
		return -ENOMEM;
	for (size_t i = 0; i < c->members.n; i++)
		comm->members[comm->nmembers++] = c->members.v[i].group;
	if (c->partial)
		comm->name = model_stringf(r->model, "%s (members that were recorded)", comm->name);
	if (comm->name && r->model->njobs > 1)
		comm->name = model_stringf(r->model, "%s (job %u)", comm->name, r->jobs.v[c->job].number + 1);
	return comm->name ? 0 : -ENOMEM;
}

/* Removes the definitions with unknown members; handles on them have no communicator. */
static int drop_unknown(struct replay *r, size_t unknown)
{
	struct model *model = r->model;
	uint32_t *refs = calloc(model->comms.n + 1, sizeof(*refs)), n = 0;

	if (!refs)
		return -ENOMEM;
	for (size_t i = 0; i < r->derived_comms->list.n; i++)
		if (r->derived_comms->list.v[i]->ref != REF_NONE && !r->derived_comms->list.v[i]->known)
			refs[r->derived_comms->list.v[i]->ref] = REF_NONE;
	for (size_t i = 0; i < model->comms.n; i++) {
		if (refs[i] == REF_NONE)
			continue;
		model->comms.v[n] = model->comms.v[i];
		refs[i] = n++;
	}
	model->comms.n = n;
	for (size_t i = 0; i < model->handles.n; i++)
		if (model->handles.v[i].comm != REF_NONE)
			model->handles.v[i].comm = refs[model->handles.v[i].comm];
	free(refs);
	return model_note(model, "%zu communicators have unknown members: their handles have no communicator", unknown);
}

int derived_comms_finish(struct replay *r)
{
	size_t unknown = 0;
	int ret = 0;

	for (size_t i = 0; r->derived_comms && i < r->derived_comms->list.n && !ret; i++) {
		struct derived_comm *c = r->derived_comms->list.v[i];

		derived_comms_resolve(r, c);
		if (c->ref == REF_NONE)
			continue;
		unknown += !c->known;
		ret = c->known ? derived_comms_define(r, c) : 0;
	}
	if (!ret && unknown)
		ret = drop_unknown(r, unknown);
	if (!ret && r->unknown_creations)
		ret = model_note(r->model,
				 "%llu calls made communicators whose members are unknown: their process was not recorded from "
				 "MPI_Init on, or lost records, or the arguments do not identify them",
				 (unsigned long long)r->unknown_creations);
	return ret;
}

void derived_comms_free_process(struct process *process)
{
	struct comm_count *count, *next;

	HASH_ITER(hh, process->comm_counts, count, next) {
		HASH_DEL(process->comm_counts, count);
		free(count);
	}
	process->counts_comms = false;
}

void derived_comms_free(struct replay *r)
{
	struct derived_comms *c = r->derived_comms;

	if (!c)
		return;
	HASH_CLEAR(hh, c->contexts);
	HASH_CLEAR(hh, c->creations);
	for (size_t i = 0; i < c->context_list.n; i++) {
		free(c->context_list.v[i] ? c->context_list.v[i]->key : NULL);
		free(c->context_list.v[i]);
	}
	for (size_t i = 0; i < c->creation_list.n; i++) {
		free(c->creation_list.v[i] ? c->creation_list.v[i]->key : NULL);
		free(c->creation_list.v[i]);
	}
	for (size_t i = 0; i < c->list.n; i++) {
		free(c->list.v[i] ? c->list.v[i]->members.v : NULL);
		free(c->list.v[i]);
	}
	free(c->context_list.v);
	free(c->creation_list.v);
	free(c->list.v);
	free(c);
	r->derived_comms = NULL;
}
