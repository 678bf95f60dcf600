/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A stack of open calls per location, and the operations that began in them.
 */
#include "stream/calls.h"

#include <errno.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"
#include "util/hash.h"

struct open_call {
	uint32_t region, handle;
	enum live_op op;
	uint64_t enter_ns;
};
struct open_operation {
	uint64_t id;
	uint32_t depth; /* of its call */
	bool ended;
	struct ended_call call;
};
/* Its call may return before it ends. */
struct pending_operation {
	uint64_t id;
	struct ended_call call;
	UT_hash_handle hh;
};

struct location {
	MODEL_ARRAY(struct open_call, calls);
	MODEL_ARRAY(struct open_operation, operations);
};

struct calls {
	MODEL_ARRAY(struct location, locations);
	struct pending_operation *pending;
};

struct calls *calls_create(void)
{
	return calloc(1, sizeof(struct calls));
}

static void free_location(struct location *l)
{
	free(l->calls.v);
	free(l->operations.v);
	*l = (struct location){ 0 };
}

void calls_destroy(struct calls *calls)
{
	struct pending_operation *p, *next;

	if (!calls)
		return;
	for (size_t i = 0; i < calls->locations.n; i++)
		free_location(&calls->locations.v[i]);
	HASH_ITER(hh, calls->pending, p, next) {
		HASH_DEL(calls->pending, p);
		free(p);
	}
	free(calls->locations.v);
	free(calls);
}

void calls_location_end(struct calls *calls, uint32_t location)
{
	if (calls && location < calls->locations.n && !calls->locations.v[location].calls.n)
		free_location(&calls->locations.v[location]);
}

static struct location *calls_location_of(struct calls *calls, uint32_t location)
{
	while (calls->locations.n <= location)
		if (!MODEL_ADD(calls->locations))
			return NULL;
	return &calls->locations.v[location];
}

static struct open_call *calls_innermost(struct location *l)
{
	return l->calls.n ? &l->calls.v[l->calls.n - 1] : NULL;
}

/* ---- begin ---- */

static int calls_on_enter(struct location *l, const struct model_event *e)
{
	struct open_call *call = MODEL_ADD(l->calls);

	if (!call)
		return -ENOMEM;
	*call = (struct open_call){ e->u.call.region, REF_NONE, LIVE_OP_OTHER, e->time_ns };
	return 0;
}

/* What the call is about; the first handle counts, unless an event creates or destroys one: that has precedence. */
static int calls_on_handle(struct location *l, uint32_t handle, enum live_op op)
{
	struct open_call *call = calls_innermost(l);

	if (!call)
		return 0;
	if (call->handle == REF_NONE || op != LIVE_OP_OTHER)
		call->handle = handle;
	if (op != LIVE_OP_OTHER)
		call->op = op;
	return 0;
}

static int calls_on_begin(struct calls *calls, struct location *l, const struct model_event *e)
{
	const struct open_call *in = calls_innermost(l);
	struct ended_call call = { .location = e->location,
				   .region = in ? in->region : REF_NONE,
				   .handle = e->u.begin.handle,
				   .op = e->u.begin.mode == OTF2_IO_OPERATION_MODE_READ    ? LIVE_OP_READ
					 : e->u.begin.mode == OTF2_IO_OPERATION_MODE_WRITE ? LIVE_OP_WRITE
											   : LIVE_OP_OTHER,
				   .begin_ns = in ? in->enter_ns : e->time_ns,
				   .offset = e->u.begin.offset,
				   .asked = e->u.begin.bytes,
				   .moved = BYTES_UNKNOWN };
	struct open_operation *operation;
	struct pending_operation *pending;

	if (!(e->u.begin.flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING)) {
		operation = MODEL_ADD(l->operations);
		if (operation)
			*operation = (struct open_operation){ e->u.begin.matching_id, l->calls.n, false, call };
		return operation ? 0 : -ENOMEM;
	}
	pending = malloc(sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	*pending = (struct pending_operation){ .id = e->u.begin.matching_id, .call = call };
	HASH_ADD(hh, calls->pending, id, sizeof(pending->id), pending);
	if (hash_added(pending))
		return 0;
	free(pending);
	return -ENOMEM;
}

/* ---- end ---- */

static struct open_operation *operation_of(struct location *l, uint64_t id)
{
	for (size_t i = l->operations.n; i-- > 0;)
		if (l->operations.v[i].id == id)
			return &l->operations.v[i];
	return NULL;
}

static int calls_end_operation(struct calls *calls, struct location *l, uint64_t id, const struct ended_call *result,
			       int (*ended)(void *, const struct ended_call *), void *arg)
{
	struct open_operation *operation = operation_of(l, id);
	struct pending_operation *pending;
	struct ended_call call;

	if (operation) {
		operation->ended = true;
		operation->call.moved = result->moved;
		operation->call.failed = result->failed;
		operation->call.error = result->error;
		return 0;
	}
	HASH_FIND(hh, calls->pending, &id, sizeof(id), pending);
	if (!pending)
		return 0;
	call = pending->call;
	HASH_DEL(calls->pending, pending);
	free(pending);
	call.end_ns = result->end_ns;
	call.moved = result->moved;
	call.failed = result->failed;
	call.error = result->error;
	return call.region == REF_NONE ? 0 : ended(arg, &call);
}

/* A call without operations is one event, one with operations as many as it has. */
static int calls_on_leave(struct location *l, const struct model *model, const struct model_event *e,
			  int (*ended)(void *, const struct ended_call *), void *arg)
{
	struct ended_call call = { .location = e->location,
				   .region = e->u.call.region,
				   .end_ns = e->time_ns,
				   .offset = OFFSET_UNKNOWN,
				   .asked = BYTES_UNKNOWN,
				   .moved = BYTES_UNKNOWN,
				   .failed = e->u.call.failed,
				   .error = e->u.call.error };
	const struct open_call *open = calls_innermost(l);
	size_t first = l->operations.n;
	int ret = 0;

	if (!open || open->region != e->u.call.region)
		return 0;
	call.handle = open->handle;
	call.op = open->op;
	call.begin_ns = open->enter_ns;
	while (first && l->operations.v[first - 1].depth >= l->calls.n)
		first--;
	l->calls.n--;
	for (size_t i = first; i < l->operations.n && !ret; i++) {
		struct ended_call *operation = &l->operations.v[i].call;

		operation->end_ns = e->time_ns;
		operation->failed |= call.failed;
		if (!operation->error)
			operation->error = call.error;
		ret = ended(arg, operation);
	}
	if (first == l->operations.n && model->regions.v[call.region].io)
		ret = ended(arg, &call);
	l->operations.n = first;
	return ret;
}

int calls_event(struct calls *calls, const struct model *model, const struct model_event *e,
		int (*ended)(void *arg, const struct ended_call *call), void *arg)
{
	struct location *l = calls_location_of(calls, e->location);
	struct ended_call result = { .end_ns = e->time_ns, .moved = BYTES_UNKNOWN };

	if (!l)
		return -ENOMEM;
	switch (e->type) {
	case EV_ENTER: return calls_on_enter(l, e);
	case EV_LEAVE: return calls_on_leave(l, model, e, ended, arg);
	case EV_CREATE: return calls_on_handle(l, e->u.create.handle, LIVE_OP_OPEN);
	case EV_DESTROY: return calls_on_handle(l, e->u.destroy.handle, LIVE_OP_CLOSE);
	case EV_SEEK: return calls_on_handle(l, e->u.seek.handle, LIVE_OP_OTHER);
	case EV_STATUS_FLAGS: return calls_on_handle(l, e->u.status.handle, LIVE_OP_OTHER);
	case EV_LOCK:
	case EV_UNLOCK:
	case EV_TRYLOCK: return calls_on_handle(l, e->u.lock.handle, LIVE_OP_OTHER);
	case EV_BEGIN: return calls_on_begin(calls, l, e);
	case EV_COMPLETE:
		result.moved = e->u.complete.bytes;
		result.failed = e->u.complete.failed;
		result.error = e->u.complete.error;
		return calls_end_operation(calls, l, e->u.complete.matching_id, &result, ended, arg);
	case EV_CANCELLED: result.failed = true; return calls_end_operation(calls, l, e->u.op.matching_id, &result, ended, arg);
	default: return 0;
	}
}
