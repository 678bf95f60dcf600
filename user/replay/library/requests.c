/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Non-blocking operations, between the call that began them and the one that completes them, which may be made by any thread of the
 * process; the completion is written on that thread. An operation is found by its request. Operations that are never waited for
 * stay open and are counted.
 */
#include "replay/library/requests.h"
#include "replay/events.h"
#include "replay/frame.h"
#include "replay/mpi/mpich.h"

#include <errno.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

static struct request_key requests_key_of(uint32_t layer, uint64_t value, uint64_t scope)
{
	return (struct request_key){ .value = value, .scope = scope, .layer = layer };
}

struct request *request_find(const struct process *process, uint32_t layer, uint64_t value, uint64_t scope)
{
	struct request_key key = requests_key_of(layer, value, scope);
	struct request *request;

	HASH_FIND(hh, process->requests, &key, sizeof(key), request);
	return request;
}

static void request_forget(struct process *process, struct request *request)
{
	HASH_DEL(process->requests, request);
	free(request);
}

/* No wait or test on it was observed: the operation stays open. */
static void leave_open(struct replay *r, struct process *process, struct request *request)
{
	if (request->freed)
		r->requests_freed++;
	else
		r->requests_open++;
	request_forget(process, request);
}

int request_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value, uint64_t scope, const struct frame *f)
{
	struct request *request = request_find(process, layer, value, scope);

	if (request)    /* the value is reused */
		leave_open(r, process, request);
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->key = requests_key_of(layer, value, scope);
	request->handle = f->used;
	request->matching_id = f->matching_id;
	request->asked = f->request;
	request->mode = f->mode;
	HASH_ADD(hh, process->requests, key, sizeof(request->key), request);
	if (hash_added(request))
		return 0;
	free(request);
	return -ENOMEM;
}

/* ---- events ---- */

static int op_event(struct replay *r, struct thread *thread, const struct frame *f, enum model_event_type type,
		    const struct request *request)
{
	struct model_event event = { .type = type, .u.op = { .handle = request->handle, .matching_id = request->matching_id } };

	return call_event(r, thread, &event, f->leave_ns);
}

int request_test(struct replay *r, struct thread *thread, const struct frame *f, const struct request *request)
{
	return op_event(r, thread, f, EV_TEST, request);
}

int request_cancelled(struct replay *r, struct thread *thread, const struct frame *f, struct request *request)
{
	int ret = op_event(r, thread, f, EV_CANCELLED, request);

	request_forget(thread->process, request);
	return ret;
}

int request_complete(struct replay *r, struct thread *thread, const struct frame *f, struct request *request, uint64_t bytes,
		     bool failed)
{
	struct model_event event = { .type = EV_COMPLETE };
	bool data = request->mode != OTF2_IO_OPERATION_MODE_FLUSH;
	int ret;

	if (failed || !data)
		bytes = BYTES_UNKNOWN;
	event.u.complete.handle = request->handle;
	event.u.complete.matching_id = request->matching_id;
	event.u.complete.bytes = bytes;
	event.u.complete.failed = failed;
	r->model->totals.unknown_sizes += data && !failed && bytes == BYTES_UNKNOWN;
	ret = call_event(r, thread, &event, f->leave_ns);
	request_forget(thread->process, request);
	return ret;
}

/* ---- calls that make requests ---- */

static bool is_made(const struct row_info *info)
{
	for (int i = 0; i < info->nout; i++)
		if (info->out[i] == info->arg[ROLE_REQUEST])
			return true;
	return false;
}

#define UNNAMED_REQUEST (1ull << 63)    /* no request number of a library has this bit */

/* The program passed NULL in place of the request's address (PnetCDF allows it): there is no request to identify the operation by,
 * so only a wait or cancel for all operations of its file can end it. */
static int unnamed_request_issued(struct replay *r, struct thread *thread, const struct frame *f)
{
	int64_t scope;

	if (frame_layer(r, f)->on_demand || !is_made(frame_info(r, f)) || !frame_arg(r, f, ROLE_HANDLE, &scope))
		return 0;
	return request_add(r, thread->process, frame_row(r, f)->layer, UNNAMED_REQUEST | f->matching_id, scope, f);
}

/* Identifies the operation. Requests that the BPF programs filter: by low word and time of creation; request numbers: by the file
 * in which they are unique; addresses: by themselves; members of a set (HDF5's event sets): in the scope of the set. */
int request_issued(struct replay *r, struct thread *thread, const struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	int64_t value, scope = 0;

	if (!frame_arg(r, f, ROLE_REQUEST, &value))
		return unnamed_request_issued(r, thread, f);
	if (frame_layer(r, f)->on_demand)
		return request_add(r, thread->process, row->layer, (uint32_t)value, f->leave_ns, f);
	if (frame_info(r, f)->on_fd)
		return request_add(r, thread->process, row->layer, value, 0, f);
	if (!is_made(frame_info(r, f)))
		return request_add(r, thread->process, row->layer, f->matching_id, value, f);
	frame_arg(r, f, ROLE_HANDLE, &scope);
	return request_add(r, thread->process, row->layer, value, scope, f);
}

/* ---- state of the requests of a call ---- */

int requests_record(struct replay *r, struct thread *thread, const struct iop_rec_requests *rec)
{
	size_t n = rec->n;
	struct request_states *states = &thread->states;
	struct iop_request_state *grown;

	if (states->enter_ns != rec->enter_ns || states->probe != rec->probe)
		states->n = 0;
	states->enter_ns = rec->enter_ns;
	states->probe = rec->probe;
	r->requests_beyond += rec->beyond;
	grown = reallocarray(states->v, states->n + n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	states->v = grown;
	memcpy(grown + states->n, rec->v, n * sizeof(*grown));
	states->n += n;
	return 0;
}

static struct request *request_of_state(const struct replay *r, const struct thread *thread, const struct frame *f,
					const struct iop_request_state *state)
{
	int64_t scope = 0;

	if (frame_layer(r, f)->on_demand)
		return request_find(thread->process, frame_row(r, f)->layer, (uint32_t)state->request, state->issued_ns);
	frame_arg(r, f, ROLE_HANDLE, &scope);
	return request_find(thread->process, frame_row(r, f)->layer, (int32_t)state->request, scope);
}

/* Statuses are evaluated only in libraries of the known ABI. Open MPI 4.1 leaves _cancelled unchanged where operations cannot be
 * cancelled, as in MPI-IO: so it is used only after an attempt to cancel, and if it is 0 or 1. */
static int request_done(struct replay *r, struct thread *thread, const struct frame *f, struct request *request,
			const struct iop_request_state *state)
{
	const struct library *library = &thread->process->libraries[frame_row(r, f)->layer];
	bool status = state->state & IOP_REQUEST_STATUS && (library->known_abi || library->narrow);
	bool cancelled = library->narrow ? state->cancelled & 1 : state->cancelled == 1;

	if (status && request->cancel && cancelled)
		return request_cancelled(r, thread, f, request);
	if (status)
		return request_complete(r, thread, f, request, library->narrow ? mpich_status_bytes(state->bytes) : state->bytes,
					f->failed);
	/* a library without statuses moves all bytes or fails */
	return request_complete(r, thread, f, request, frame_layer(r, f)->status_size ? BYTES_UNKNOWN : request->asked, f->failed);
}

static int one_state(struct replay *r, struct thread *thread, const struct frame *f, const struct iop_request_state *state)
{
	struct request *request = request_of_state(r, thread, f, state);
	enum table_op op = frame_row(r, f)->op;

	if (!request)
		return 0;
	if (op == OP_FREE) {
		request->freed |= !!(state->state & IOP_REQUEST_DONE);
		return 0;
	}
	request->cancel |= op == OP_CANCEL && !f->failed;
	if (op == OP_CANCEL && !frame_layer(r, f)->on_demand && state->state & IOP_REQUEST_DONE)
		return request_cancelled(r, thread, f, request);
	if (state->state & IOP_REQUEST_DONE)
		return request_done(r, thread, f, request, state);
	return op == OP_CANCEL ? 0 : request_test(r, thread, f, request);
}

/* mode -1: all modes. */
static int end_scope(struct replay *r, struct thread *thread, const struct frame *f, uint64_t scope, int mode)
{
	struct request *request, *next;
	int ret = 0;

	HASH_ITER(hh, thread->process->requests, request, next) {
		if (ret || request->key.layer != frame_row(r, f)->layer || request->key.scope != scope)
			continue;
		if (mode >= 0 && request->mode != mode)
			continue;
		ret = frame_row(r, f)->op == OP_CANCEL ? request_cancelled(r, thread, f, request) :
							 request_complete(r, thread, f, request, request->asked, false);
	}
	return ret;
}

/* Ends or cancels all operations of a file (PnetCDF's NC_REQ_ALL, NC_GET_REQ_ALL, NC_PUT_REQ_ALL in place of their number), or
 * those of a set (H5ESwait, which returns how many are still in progress). If the call fails the state of the operations is
 * unknown: PnetCDF leaves them pending if it was called in the wrong data mode. */
static int end_all(struct replay *r, struct thread *thread, const struct frame *f)
{
	enum table_op op = frame_row(r, f)->op;
	int64_t count = 0, scope;

	if ((op != OP_WAIT && op != OP_CANCEL) || f->failed)
		return 0;
	if (frame_layer(r, f)->on_demand || !frame_arg(r, f, ROLE_COUNT, &count))
		return 0;
	if (frame_arg(r, f, ROLE_HANDLE, &scope))
		return count >= 0 ? 0 : end_scope(r, thread, f, scope, count == -2 ? OTF2_IO_OPERATION_MODE_READ :
						  count == -3 ? OTF2_IO_OPERATION_MODE_WRITE : -1);
	if (count || !frame_arg(r, f, ROLE_REQUEST, &scope))
		return 0;
	return end_scope(r, thread, f, scope, -1);
}

int requests_leave(struct replay *r, struct thread *thread, const struct frame *f)
{
	const struct request_states *states = &thread->states;
	int ret = f->abandoned ? 0 : end_all(r, thread, f);

	if (ret || f->abandoned || states->enter_ns != f->enter_ns || states->probe != f->probe)
		return ret;
	for (size_t i = 0; i < states->n && !ret; i++)
		ret = one_state(r, thread, f, &states->v[i]);
	return ret;
}

/* ---- the end ---- */

void requests_end(struct replay *r, struct process *process)
{
	struct request *request, *next;

	HASH_ITER(hh, process->requests, request, next)
		leave_open(r, process, request);
}
