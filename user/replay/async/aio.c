/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * POSIX asynchronous I/O, and other libraries that use requests on descriptors. A descriptor gets a handle in such a library's
 * paradigm with the first operation on it.
 */
#include "replay/async/aio.h"
#include "replay/async/helpers.h"
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
static int make_handle(struct replay *r, struct thread *thread, unsigned index, struct open_file *inc)
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
	struct open_file *inc = fd_find(r, thread->process, thread->table, (int32_t)fd, f->enter_ns);
	int ret = 0;

	if (!inc && f->leave_ns) /* a pipe is described at its first use by the library, which may be before this call returns */
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

static bool begins_one(enum table_op op)
{
	return op == OP_READ || op == OP_WRITE || op == OP_SYNC;
}

static uint8_t aio_operation_mode(enum table_op op)
{
	return op == OP_READ    ? OTF2_IO_OPERATION_MODE_READ
	       : op == OP_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
				: OTF2_IO_OPERATION_MODE_FLUSH;
}

/* What the call asks of a helper thread. Returns false if that is unknown. */
static bool aio_work_of(const struct replay *r, const struct frame *f, struct helper_work *work)
{
	enum table_op op = frame_row(r, f)->op;
	int64_t fd, bytes, offset;

	*work = (struct helper_work){ .offset = OFFSET_UNKNOWN, .bytes = BYTES_UNKNOWN, .mode = aio_operation_mode(op) };
	if (!frame_arg(r, f, ROLE_HANDLE, &fd))
		return false;
	work->fd = fd;
	if (op == OP_SYNC)
		return true;
	if (!frame_arg(r, f, ROLE_BYTES, &bytes) || !frame_arg(r, f, ROLE_OFFSET, &offset))
		return false;
	work->bytes = bytes;
	work->offset = offset < 0 ? OFFSET_UNKNOWN : (uint64_t)offset;
	return true;
}

static int begin_one(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	int64_t fd, block = 0;
	bool joined;

	if (!frame_arg(r, f, ROLE_HANDLE, &fd))
		return 0;
	frame_arg(r, f, ROLE_REQUEST, &block);
	f->reserved_id = helper_matching_id(thread->process, block, &joined);
	return begin_on(r, thread, index, fd, aio_operation_mode(frame_row(r, f)->op));
}

/* The operation is written at the return, when it is known that it was accepted; that of aio_fsync at once, because there are
 * system calls inside. */
int aio_enter(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct helper_work work;
	int64_t block;
	int ret;

	if (!begins_one(frame_row(r, f)->op) || (f->complete && f->failed) || !frame_arg(r, f, ROLE_REQUEST, &block) ||
	    !aio_work_of(r, f, &work))
		return 0;
	ret = helper_expect(r, thread->process, block, &work, f->enter_ns);
	return ret || frame_row(r, f)->op != OP_SYNC ? ret : begin_one(r, thread, index);
}

int aio_begin(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	int64_t block;

	if (!begins_one(frame_row(r, f)->op))
		return 0;
	if (f->failed && frame_arg(r, f, ROLE_REQUEST, &block))
		helper_request_ended(r, thread->process, block, false);
	return f->failed || f->begun ? 0 : begin_one(r, thread, index);
}

/* ---- lio_listio ---- */

static bool aio_is_transfer(const struct iop_submitted *one)
{
	return one->opcode == LIO_READ || one->opcode == LIO_WRITE;
}

static uint8_t listed_mode(const struct iop_submitted *one)
{
	return one->opcode == LIO_READ ? OTF2_IO_OPERATION_MODE_READ : OTF2_IO_OPERATION_MODE_WRITE;
}

int aio_submitted(struct replay *r, struct thread *thread, const struct iop_rec_requests *rec)
{
	int ret = requests_record(r, thread, rec);

	for (unsigned i = 0; i < rec->n && !ret; i++) {
		const struct iop_submitted *one = (const struct iop_submitted *)&rec->v[i];
		struct helper_work work = { .bytes = one->bytes, .fd = one->fd, .mode = listed_mode(one) };

		work.offset = (int64_t)one->offset < 0 ? OFFSET_UNKNOWN : one->offset;
		if (aio_is_transfer(one))
			ret = helper_expect(r, thread->process, one->request, &work, rec->enter_ns);
	}
	return ret;
}

/* All operations begin with the call; each is written as if a call of its own had begun it. Afterwards opcode, fd and offset of the
 * element hold whether it has begun, its handle and its matching id, for issue_listed. */
static int aio_begin_listed(struct replay *r, struct thread *thread, unsigned index, struct iop_submitted *one)
{
	struct frame *f = &thread->frames[index];
	bool joined;
	int ret;

	f->begun = false;
	if (aio_is_transfer(one)) {
		f->listed = one;
		f->reserved_id = helper_matching_id(thread->process, one->request, &joined);
		ret = begin_on(r, thread, index, one->fd, listed_mode(one));
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

/* Which operations of a refused list were accepted is unknown, except for those that a helper thread has carried out. */
static void drop_refused(struct replay *r, struct process *process, struct iop_submitted *one)
{
	bool joined;

	if (!aio_is_transfer(one) || (helper_matching_id(process, one->request, &joined) && joined))
		return;
	r->requests_refused++;
	helper_request_ended(r, process, one->request, false);
	one->opcode = LIO_NOP;
}

static int submitted_all(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct request_states *list = &thread->states;
	int64_t mode = LIO_NOWAIT;
	int ret = 0;

	if (list->enter_ns != f->enter_ns || list->probe != f->probe)
		return 0;
	frame_arg(r, f, ROLE_CMD, &mode);
	for (size_t i = 0; i < list->n && (f->abandoned || (f->failed && mode != LIO_WAIT)); i++)
		drop_refused(r, thread->process, (struct iop_submitted *)&list->v[i]);
	for (size_t i = 0; i < list->n && !ret; i++)
		ret = aio_begin_listed(r, thread, index, (struct iop_submitted *)&list->v[i]);
	for (size_t i = 0; i < list->n && !ret; i++)
		ret = issue_listed(r, thread, index, (const struct iop_submitted *)&list->v[i]);
	return ret;
}

/* ---- completion ---- */

static int aio_tested(struct replay *r, struct thread *thread, const struct frame *f, struct request *request, uint64_t block)
{
	switch (f->ret) {
	case EINPROGRESS:
		return request_test(r, thread, f, request);
	case ECANCELED:
		helper_request_ended(r, thread->process, block, false);
		return request_cancelled(r, thread, f, request);
	default:
		return 0;       /* completed: its result has not yet been fetched */
	}
}

static int aio_requested(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct request *request;
	int64_t block;

	if (!frame_arg(r, f, ROLE_REQUEST, &block))
		return 0;
	request = request_find(thread->process, frame_row(r, f)->layer, block, 0);
	if (!request)
		return 0;
	switch (frame_row(r, f)->op) {
	case OP_TEST:
		return aio_tested(r, thread, f, request, block);
	case OP_WAIT:
		helper_request_ended(r, thread->process, block, true);
		return request_complete(r, thread, f, request, f->ret, f->failed);
	case OP_CANCEL:
		if (f->ret != AIO_CANCELED)
			return 0;
		helper_request_ended(r, thread->process, block, false);
		return request_cancelled(r, thread, f, request);
	default:
		return 0;
	}
}

int aio_leave(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];

	if (frame_row(r, f)->op == OP_SUBMIT)
		return submitted_all(r, thread, index);
	return f->abandoned ? 0 : aio_requested(r, thread, f);
}
