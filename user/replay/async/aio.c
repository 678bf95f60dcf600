/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * POSIX asynchronous I/O, and other libraries that use requests on descriptors. A descriptor gets a handle in such a library's
 * paradigm with the first operation on it.
 */
#include "replay/async/aio.h"
#include "replay/events.h"
#include "replay/fd/fds.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/library/parents.h"
#include "replay/library/requests.h"
#include "replay/op_events.h"

#include <aio.h>
#include <errno.h>
#include <otf2/OTF2_Events.h>

/* There is no call that creates or closes such a handle: it exists as long as it is used. */
static int make_handle(struct replay *r, struct thread *thread, unsigned index, struct incarnation *inc)
{
	struct model_handle def = {
		.name = "", .file = inc->file, .comm = REF_NONE, .paradigm = frame_info(r, &thread->frames[index])->paradigm,
		.group = thread->process->group, .precreated = true, .pre_mode = inc->mode, .pre_status_flags = inc->status_flags,
	};

	def.parent = parent_of(r, thread, index, inc->file, NULL);
	inc->aio_ref = handle_new(r, &def);
	return inc->aio_ref == REF_NONE ? -ENOMEM : 0;
}

static int begin_on(struct replay *r, struct thread *thread, unsigned index, int64_t fd, uint8_t mode)
{
	struct frame *f = &thread->frames[index];
	struct incarnation *inc = fd_find(r, thread->process, thread->table, (int32_t)fd, f->enter_ns);
	int ret = 0;

	if (!inc && f->complete) /* a pipe is described at its first use by the library, which may be before this call returns */
		inc = fd_find(r, thread->process, thread->table, (int32_t)fd, f->leave_ns);
	if (!inc)
		inc = fd_undescribed(thread->table, (int32_t)fd, f->enter_ns);
	if (!inc)
		return fd < 0 ? 0 : -ENOMEM;
	if (inc->aio_ref == REF_NONE)
		ret = make_handle(r, thread, index, inc);
	if (ret)
		return ret;
	file_was_used(r, thread, index, inc->file);
	return op_begin(r, thread, f, inc->aio_ref, mode);
}

int aio_enter(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	enum table_op op = frame_row(r, f)->op;
	int64_t fd;

	if ((op != OP_READ && op != OP_WRITE && op != OP_SYNC) || (f->complete && f->failed) || !frame_arg(r, f, ROLE_HANDLE, &fd))
		return 0;
	return begin_on(r, thread, index, fd, op == OP_READ ? OTF2_IO_OPERATION_MODE_READ :
			op == OP_WRITE ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_FLUSH);
}

/* ---- lio_listio ---- */

/* All operations begin with the call; each is written as if a call of its own had begun it. Afterwards opcode, fd and offset of the
 * element hold whether it has begun, its handle and its matching id, for issue_listed. */
static int begin_listed(struct replay *r, struct thread *thread, unsigned index, struct iop_submitted *one)
{
	struct frame *f = &thread->frames[index];
	int ret;

	f->begun = false;
	if (one->opcode == LIO_READ || one->opcode == LIO_WRITE) {
		f->listed = one;
		ret = begin_on(r, thread, index, one->fd,
			       one->opcode == LIO_READ ? OTF2_IO_OPERATION_MODE_READ : OTF2_IO_OPERATION_MODE_WRITE);
		f->listed = NULL;
		if (ret)
			return ret;
	}
	one->opcode = f->begun ? LIO_READ : LIO_NOP;
	one->fd = f->used;
	one->offset = f->matching_id;
	f->begun = false;
	return 0;
}

/* All operations are issued at the return. */
static int issue_listed(struct replay *r, struct thread *thread, unsigned index, const struct iop_submitted *one)
{
	struct frame *f = &thread->frames[index];
	struct model_event event = { .type = EV_ISSUED, .u.op = { .handle = one->fd, .matching_id = one->offset } };
	int ret;

	if (one->opcode == LIO_NOP)
		return 0;
	f->used = one->fd;
	f->matching_id = one->offset;
	f->request = one->bytes;
	ret = call_event(r, thread, &event, f->leave_ns);
	return ret ? ret : request_add(r, thread->process, frame_row(r, f)->layer, one->request, 0, f);
}

static int submitted_all(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct request_states *list = &thread->states;
	int64_t mode = LIO_NOWAIT;
	int ret = 0;

	if (f->abandoned || list->enter_ns != f->enter_ns || list->probe != f->probe)
		return 0;
	frame_arg(r, f, ROLE_CMD, &mode);
	if (f->failed && mode != LIO_WAIT) {    /* unknown which of them were accepted */
		r->requests_refused += list->n;
		return 0;
	}
	for (size_t i = 0; i < list->n && !ret; i++)
		ret = begin_listed(r, thread, index, (struct iop_submitted *)&list->v[i]);
	for (size_t i = 0; i < list->n && !ret; i++)
		ret = issue_listed(r, thread, index, (const struct iop_submitted *)&list->v[i]);
	return ret;
}

/* ---- completion ---- */

static int asked(struct replay *r, struct thread *thread, const struct frame *f, struct request *request)
{
	switch (f->ret) {
	case EINPROGRESS: return request_test(r, thread, f, request);
	case ECANCELED: return request_cancelled(r, thread, f, request);
	default: return 0;      /* completed: its result has not yet been fetched */
	}
}

static int requested(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct request *request;
	int64_t value;

	if (!frame_arg(r, f, ROLE_REQUEST, &value))
		return 0;
	request = request_find(thread->process, frame_row(r, f)->layer, value, 0);
	if (!request)
		return 0;
	switch (frame_row(r, f)->op) {
	case OP_TEST: return asked(r, thread, f, request);
	case OP_WAIT: return request_complete(r, thread, f, request, f->ret, f->failed);
	case OP_CANCEL: return f->ret == AIO_CANCELED ? request_cancelled(r, thread, f, request) : 0;
	default: return 0;
	}
}

int aio_leave(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];

	if (f->abandoned)
		return 0;
	return frame_row(r, f)->op == OP_SUBMIT ? submitted_all(r, thread, index) : requested(r, thread, f);
}
