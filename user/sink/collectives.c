/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Times at which this node's ranks met in collective opens and closes, as collectives.json: merge uses them to find out how exactly
 * the clocks of a job's nodes agree, without reading events. An array "collectives" of { "handle": ref, "opened": M, "closed": M },
 * where M is { "ranks": number of participants, "last_enter_ns": when the last one entered the call, "first_leave_ns": when the
 * first one left it }.
 *
 * Follows the open calls of each thread; a call that opened or closed a collective handle is a synchronisation point of its ranks.
 */
#include "sink/sides.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "model/build.h"

struct meeting { uint32_t ranks; uint64_t last_enter_ns, first_leave_ns; };
struct collective { struct meeting opened, closed; };
/* handle: that the call opened or closed, REF_NONE if none. One is enough: a library call opens one file. */
struct open_call { uint64_t enter_ns; uint32_t handle; bool closes; };
struct location { MODEL_ARRAY(struct open_call, calls); };

struct collectives_sink {
	struct sink sink;               /* first member: the public interface */
	FILE *out;
	MODEL_ARRAY(struct location, locations);
	MODEL_ARRAY(struct collective, handles);
};

static struct location *location_get(struct collectives_sink *s, uint32_t location)
{
	while (s->locations.n <= location)
		if (!MODEL_ADD(s->locations))
			return NULL;
	return &s->locations.v[location];
}

static int location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct collectives_sink *s = (struct collectives_sink *)sink;

	(void)model;
	if (location < s->locations.n) {
		free(s->locations.v[location].calls.v);
		s->locations.v[location] = (struct location){ 0 };
	}
	return 0;
}

static bool is_collective(const struct model *model, uint32_t handle)
{
	uint32_t comm = handle < model->handles.n ? model->handles.v[handle].comm : REF_NONE;

	return comm != REF_NONE && model->comms.v[comm].kind != COMM_KIND_SELF;
}

static void collectives_mark(struct location *l, const struct model *model, uint32_t handle, bool closes)
{
	if (l->calls.n && is_collective(model, handle)) {
		l->calls.v[l->calls.n - 1].handle = handle;
		l->calls.v[l->calls.n - 1].closes = closes;
	}
}

static void collectives_meet(struct meeting *m, uint64_t enter_ns, uint64_t leave_ns)
{
	if (enter_ns > m->last_enter_ns)
		m->last_enter_ns = enter_ns;
	if (!m->ranks++ || leave_ns < m->first_leave_ns)
		m->first_leave_ns = leave_ns;
}

static int collectives_leave(struct collectives_sink *s, struct location *l, const struct model_event *e)
{
	struct open_call *call;

	if (!l->calls.n)
		return 0;
	call = &l->calls.v[--l->calls.n];
	if (call->handle == REF_NONE || e->u.call.abandoned)
		return 0;
	while (s->handles.n <= call->handle)
		if (!MODEL_ADD(s->handles))
			return -ENOMEM;
	collectives_meet(call->closes ? &s->handles.v[call->handle].closed : &s->handles.v[call->handle].opened, call->enter_ns,
			 e->time_ns);
	return 0;
}

static int collectives_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct collectives_sink *s = (struct collectives_sink *)sink;
	struct location *l;
	struct open_call *call;

	if (e->type != EV_ENTER && e->type != EV_LEAVE && e->type != EV_CREATE && e->type != EV_DESTROY)
		return 0;
	l = location_get(s, e->location);
	if (!l)
		return -ENOMEM;
	switch (e->type) {
	case EV_ENTER:
		call = l->calls.n < l->calls.cap ? &l->calls.v[l->calls.n++] : MODEL_ADD(l->calls);
		if (!call)
			return -ENOMEM;
		*call = (struct open_call){ .enter_ns = e->time_ns, .handle = REF_NONE };
		return 0;
	case EV_LEAVE: return collectives_leave(s, l, e);
	case EV_CREATE: collectives_mark(l, model, e->u.create.handle, false); return 0;
	default: collectives_mark(l, model, e->u.destroy.handle, true); return 0;
	}
}

static json_t *meeting_json(const struct meeting *m)
{
	return json_pack("{s:I, s:I, s:I}", "ranks", (json_int_t)m->ranks, "last_enter_ns", (json_int_t)m->last_enter_ns,
			 "first_leave_ns", (json_int_t)m->first_leave_ns);
}

static int collectives_finish(struct sink *sink, const struct model *model)
{
	struct collectives_sink *s = (struct collectives_sink *)sink;
	json_t *list = json_array(), *root = json_pack("{s:o}", "collectives", list);
	int error = root ? 0 : -ENOMEM;

	(void)model;
	for (size_t h = 0; h < s->handles.n && !error; h++) {
		const struct collective *c = &s->handles.v[h];

		if (c->opened.ranks || c->closed.ranks)
			error = json_array_append_new(list,
						      json_pack("{s:I, s:o, s:o}", "handle", (json_int_t)h, "opened",
								meeting_json(&c->opened), "closed", meeting_json(&c->closed)));
	}
	errno = 0;
	if (!error && (json_dumpf(root, s->out, JSON_COMPACT) || fputc('\n', s->out) == EOF || fflush(s->out)))
		error = errno ? -errno : -EIO;
	json_decref(root);
	return error == -1 ? -ENOMEM : error;
}

static int collectives_create(struct sink **out_sink, FILE *out)
{
	struct collectives_sink *s = calloc(1, sizeof(*s));

	*out_sink = NULL;
	if (!s)
		return -ENOMEM;
	s->sink.event = collectives_event;
	s->sink.finish = collectives_finish;
	s->sink.location_end = location_end;
	s->out = out;
	*out_sink = &s->sink;
	return 0;
}

static void collectives_destroy(struct sink *sink)
{
	struct collectives_sink *s = (struct collectives_sink *)sink;

	if (!s)
		return;
	for (size_t i = 0; i < s->locations.n; i++)
		free(s->locations.v[i].calls.v);
	free(s->locations.v);
	free(s->handles.v);
	free(s);
}

const struct side_output side_collectives = { "collectives.json", collectives_create, collectives_destroy };
