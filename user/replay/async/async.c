/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of libaio and io_uring: submitted by one call and completed elsewhere, often on another thread. Pending operations are
 * kept in a table by the key that the kernel uses for the completion.
 */
#include "replay/async/async.h"
#include "replay/events.h"
#include "replay/fd/fd_tables.h"
#include "replay/fd/fds.h"
#include "replay/files.h"
#include "replay/flags.h"
#include "replay/library/handles.h"
#include "replay/locations.h"
#include "replay/registry.h"

#include <errno.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

struct async_op {
	struct async_key key;
	uint64_t context, user_data, bytes, offset, begin_ns, matching_id;
	uint64_t moved;                 /* by partial completions */
	struct process *process;
	struct fd_table *table;         /* the table with its descriptor */
	uint32_t tid, location;         /* of the submitter */
	uint32_t handle;                /* REF_NONE: unknown, or the operation creates it */
	uint8_t op, flags;
	int32_t fd;
	bool begun, issued;
	unsigned index;                 /* in io_submit's array */
	UT_hash_handle hh;
};

/* libaio identifies operations by addresses of the process, io_uring by addresses of the kernel. */
static struct async_key async_key_of(const struct iop_rec *rec, uint64_t key, uint64_t context, uint8_t interface)
{
	if (interface == IOP_URING)
		return (struct async_key){ .key = key, .interface = interface };
	return (struct async_key){ .key = key, .context = context, .tgid = rec->tgid, .interface = interface };
}

static struct async_op *async_find(struct replay *r, const struct async_key *key)
{
	struct async_op *op;

	HASH_FIND(hh, r->async, key, sizeof(*key), op);
	return op;
}

static void op_free(struct async_op *op)
{
	fd_table_release(op->table);
	free(op);
}

static int async_forget(struct replay *r, struct async_op *op)
{
	uint32_t location = op->location;

	HASH_DEL(r->async, op);
	op_free(op);
	return location_release(r, location);
}

/* ---- begin ---- */

static uint8_t async_operation_mode(uint8_t op)
{
	return op == IOP_ASYNC_READ ? OTF2_IO_OPERATION_MODE_READ :
	       op == IOP_ASYNC_WRITE ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_FLUSH;
}

static bool is_operation(uint8_t op)
{
	return op == IOP_ASYNC_READ || op == IOP_ASYNC_WRITE || op == IOP_ASYNC_SYNC;
}

static int async_begin(struct replay *r, struct thread *thread, struct async_op *op)
{
	struct model_event event = { .type = EV_BEGIN };
	int ret;

	op->begun = true;
	if (op->handle == REF_NONE || !is_operation(op->op))
		return 0;
	op->matching_id = ++r->matching_id;
	event.u.begin.handle = op->handle;
	event.u.begin.mode = async_operation_mode(op->op);
	event.u.begin.flags = OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
	event.u.begin.bytes = op->bytes;
	event.u.begin.matching_id = op->matching_id;
	event.u.begin.offset = op->offset;
	ret = call_event(r, thread, &event, op->begin_ns);
	op->location = thread->location;
	location_hold(r, op->location);
	return ret;
}

static int async_issued(struct replay *r, struct thread *thread, struct async_op *op, uint64_t time_ns)
{
	struct model_event event = { .type = EV_ISSUED, .u.op = { op->handle, op->matching_id } };

	op->issued = true;
	return op->matching_id ? call_event(r, thread, &event, time_ns) : 0;
}

static uint32_t layer_of_descriptors(const struct replay *r)
{
	for (uint32_t i = 0; i < r->set.nlayers; i++)
		if (r->layer_paradigm[i] == r->fd_paradigm)
			return i;
	return 0;
}

static uint32_t async_handle_of(struct replay *r, struct thread *thread, const struct iop_rec_async *rec)
{
	struct process *process = thread->process;
	struct open_file *inc;
	struct object *object;

	if (rec->flags & IOP_ASYNC_REGISTERED) {
		object = rec->file ? object_find(process, layer_of_descriptors(r), rec->file) : NULL;
		return object ? object_handle(r, process, object) : REF_NONE;
	}
	inc = fd_find(r, process, thread->table, rec->fd, rec->rec.time_ns);
	return inc ? fd_handle(r, process, rec->fd, inc) : REF_NONE;
}

/* Operations of the kernel outside any call are put in a region of zero length. */
static int region_event(struct replay *r, struct thread *thread, uint32_t row, uint64_t time_ns, enum model_event_type type)
{
	struct model_event event = { .type = type, .u.call.region = row };

	if (row == REF_NONE)
		return 0;
	r->model->totals.calls += type == EV_ENTER;
	return call_event(r, thread, &event, time_ns);
}

static int taken_by_kernel(struct replay *r, struct thread *thread, struct async_op *op)
{
	bool alone = !thread->nframes;
	int ret = alone ? region_event(r, thread, r->polled_row, op->begin_ns, EV_ENTER) : 0;

	if (!ret)
		ret = async_begin(r, thread, op);
	if (!ret)
		ret = async_issued(r, thread, op, op->begin_ns);
	return !ret && alone ? region_event(r, thread, r->polled_row, op->begin_ns, EV_LEAVE) : ret;
}

/* Begins the first operations of the running io_submit, which were accepted. issued_ns 0: one of them completes already. */
static int async_begin_listed(struct replay *r, struct thread *thread, unsigned until, uint64_t issued_ns)
{
	int ret = 0;

	if (until > thread->submitted.n)
		until = thread->submitted.n;
	for (unsigned i = 0; i < until && !ret; i++) {
		struct async_op *op = async_find(r, &thread->submitted.v[i]);

		if (op && !op->begun)
			ret = async_begin(r, thread, op);
	}
	for (unsigned i = 0; i < until && !ret; i++) {
		struct async_op *op = async_find(r, &thread->submitted.v[i]);

		if (op && !op->issued)
			ret = async_issued(r, thread, op, issued_ns ? issued_ns : op->begin_ns);
	}
	return ret;
}

/* The number of accepted operations is known only when io_submit returns. */
static int async_list(struct thread *thread, struct async_op *op)
{
	struct async_key *key = MODEL_ADD(thread->submitted);

	if (!key)
		return -ENOMEM;
	*key = op->key;
	op->index = thread->submitted.n - 1;
	return 0;
}

void async_forget_submitted(struct replay *r, struct thread *thread)
{
	for (size_t i = 0; i < thread->submitted.n; i++) {
		struct async_op *op = async_find(r, &thread->submitted.v[i]);

		if (op && !op->begun)
			async_forget(r, op);          /* it has no location yet */
	}
	thread->submitted.n = 0;
}

int async_submitted(struct replay *r, struct thread *thread, const struct frame *f)
{
	int ret = f->complete && f->ret > 0 ? async_begin_listed(r, thread, f->ret, f->leave_ns) : 0;

	async_forget_submitted(r, thread);
	return ret;
}

static struct async_op *op_new(struct replay *r, struct thread *thread, const struct iop_rec_async *rec)
{
	struct async_key key = async_key_of(&rec->rec, rec->key, rec->context, rec->interface);
	struct async_op *op = async_find(r, &key);

	if (op) {       /* the key was reused: the operation completed unobserved */
		r->async_unseen += op->matching_id && !(op->flags & IOP_ASYNC_SILENT);
		if (async_forget(r, op))
			return NULL;
	}
	op = calloc(1, sizeof(*op));
	if (!op)
		return NULL;
	op->key = key;
	op->context = rec->context;
	op->user_data = rec->user_data;
	op->bytes = rec->bytes;
	op->offset = rec->offset < 0 || rec->op == IOP_ASYNC_SYNC ? OFFSET_UNKNOWN : (uint64_t)rec->offset;
	op->begin_ns = rec->rec.time_ns;
	op->process = thread->process;
	op->table = fd_table_hold(thread->table);
	op->tid = thread->tid;
	op->location = REF_NONE;
	op->op = rec->op;
	op->flags = rec->flags;
	op->fd = rec->fd;
	op->handle = REF_NONE;
	if (rec->op != IOP_ASYNC_OPEN && rec->op != IOP_ASYNC_OTHER && !(rec->flags & IOP_ASYNC_LEFT_OUT))
		op->handle = async_handle_of(r, thread, rec);
	HASH_ADD(hh, r->async, key, sizeof(op->key), op);
	if (hash_added(op))
		return op;
	op_free(op);
	return NULL;
}

int async_record(struct replay *r, struct thread *thread, const struct iop_rec_async *rec)
{
	struct async_op *op;

	r->async_other += rec->op == IOP_ASYNC_OTHER;
	if (rec->op == IOP_ASYNC_OTHER && rec->interface == IOP_URING)  /* its completion is not reported */
		return 0;
	if (rec->interface == IOP_LIBAIO && !thread->nframes)   /* the ENTER of its io_submit was lost */
		return 0;
	op = op_new(r, thread, rec);
	if (!op)
		return -ENOMEM;
	r->async_nameless += is_operation(op->op) && op->handle == REF_NONE && !(op->flags & IOP_ASYNC_LEFT_OUT);
	return rec->interface == IOP_LIBAIO ? async_list(thread, op) : taken_by_kernel(r, thread, op);
}

/* ---- completion ---- */

static int operation_ended(struct replay *r, struct thread *thread, const struct async_op *op, const struct iop_rec_async_end *rec)
{
	struct model_event event = { .type = EV_CANCELLED, .u.op = { op->handle, op->matching_id } };
	bool failed = rec->res < 0 && !op->moved;

	if (!op->matching_id)
		return 0;
	if (failed && rec->res == -ECANCELED)
		return call_event(r, thread, &event, rec->rec.time_ns);
	event = (struct model_event){ .type = EV_COMPLETE };
	event.u.complete.handle = op->handle;
	event.u.complete.matching_id = op->matching_id;
	event.u.complete.failed = failed;
	event.u.complete.error = failed ? -rec->res : 0;
	event.u.complete.bytes = BYTES_UNKNOWN;
	if (!failed && op->op != IOP_ASYNC_SYNC)
		event.u.complete.bytes = op->moved + (rec->res > 0 ? rec->res : 0);
	return call_event(r, thread, &event, rec->rec.time_ns);
}

static int async_opened(struct replay *r, struct thread *thread, const struct async_op *op, const struct iop_rec_async_end *rec)
{
	struct description d = { .file = REF_NONE, .mode = OTF2_IO_ACCESS_MODE_READ_WRITE };
	struct model_handle def = { .name = "", .comm = REF_NONE, .parent = REF_NONE, .paradigm = r->fd_paradigm,
				    .group = op->process->group };
	struct model_event event = { .type = EV_CREATE };
	struct open_file *inc;

	fd_take_hint(op->table, rec->res, &d);
	inc = fd_open(op->table, rec->res, rec->rec.time_ns);
	if (!inc)
		return -ENOMEM;
	def.file = inc->file = d.file;
	inc->mode = event.u.create.mode = d.mode;
	inc->status_flags = event.u.create.status_flags = d.status_flags;
	inc->ref = event.u.create.handle = handle_new(r, &def);
	return inc->ref == REF_NONE ? -ENOMEM : call_event(r, thread, &event, rec->rec.time_ns);
}

static int async_closed(struct replay *r, struct thread *thread, const struct async_op *op, const struct iop_rec_async_end *rec)
{
	struct model_event event = { .type = EV_DESTROY, .u.destroy.handle = op->handle };
	struct open_file *inc;

	if (op->flags & IOP_ASYNC_REGISTERED) {
		struct object *object = object_of_ref(op->process, op->handle);

		if (object)
			object_forget(op->process, object);
	} else {
		inc = fd_find(r, op->process, op->table, op->fd, op->begin_ns);
		if (inc && inc->ref == op->handle)
			inc->closed_ns = rec->rec.time_ns;
	}
	return call_event(r, thread, &event, rec->rec.time_ns);
}

static int handle_ended(struct replay *r, struct thread *thread, const struct async_op *op, const struct iop_rec_async_end *rec)
{
	int ret = region_event(r, thread, r->ended_row, rec->rec.time_ns, EV_ENTER);

	if (!ret)
		ret = op->op == IOP_ASYNC_OPEN ? async_opened(r, thread, op, rec) : async_closed(r, thread, op, rec);
	return ret ? ret : region_event(r, thread, r->ended_row, rec->rec.time_ns, EV_LEAVE);
}

static int async_ended(struct replay *r, struct thread *thread, const struct async_op *op, const struct iop_rec_async_end *rec)
{
	if (is_operation(op->op))
		return operation_ended(r, thread, op, rec);
	if (rec->res < 0 || op->process->dead)
		return 0;
	if (op->op == IOP_ASYNC_OPEN)
		return rec->excluded || op->flags & IOP_ASYNC_REGISTERED ? 0 : handle_ended(r, thread, op, rec);
	return op->handle == REF_NONE ? 0 : handle_ended(r, thread, op, rec);
}

/* Without the request's address: finds the oldest operation with this user data. */
static struct async_op *find_by_user_data(struct replay *r, const struct iop_rec_async_end *rec)
{
	for (struct async_op *op = r->async; op; op = op->hh.next)
		if (op->key.interface == rec->interface && op->context == rec->context && op->user_data == rec->user_data)
			return op;
	return NULL;
}

/* Completed in a kernel worker, usually because the submitter has exited: written to the submitter's location all the same. */
static int ended_elsewhere(struct replay *r, struct async_op *op, const struct iop_rec_async_end *rec)
{
	struct thread gone = { .tid = op->tid, .process = op->process, .table = op->table, .location = op->location };
	struct thread *submitter = thread_find(r, op->tid);
	int ret;

	if (submitter && submitter->process == op->process)
		return async_ended(r, submitter, op, rec);
	if (op->location == REF_NONE)
		return 0;
	gone.last_ns = *location_last_ns(r, op->process, op->location);
	ret = async_ended(r, &gone, op, rec);
	*location_last_ns(r, op->process, op->location) = gone.last_ns;
	return ret;
}

int async_end_record(struct replay *r, struct thread *thread, const struct iop_rec_async_end *rec)
{
	struct async_key key = async_key_of(&rec->rec, rec->key, rec->context, rec->interface);
	struct async_op *op = rec->key ? async_find(r, &key) : find_by_user_data(r, rec);
	struct thread *submitter;
	int ret = 0;

	if (!op) {
		r->async_unknown += rec->key && rec->rec.seq;
		return 0;
	}
	if (!op->begun) {       /* completed before io_submit has returned: it and those before it were accepted */
		submitter = thread_find(r, op->tid);
		ret = submitter ? async_begin_listed(r, submitter, op->index + 1, 0) : 0;
	}
	if (rec->more) {
		op->moved += rec->res > 0 ? rec->res : 0;
		return ret;
	}
	if (!ret)
		ret = thread ? async_ended(r, thread, op, rec) : ended_elsewhere(r, op, rec);
	return async_forget(r, op) ?: ret;
}

int async_file(struct replay *r, struct process *process, const struct iop_rec_fd *rec)
{
	struct object *object = object_add(r, process, layer_of_descriptors(r), rec->pos);

	if (!object)
		return -ENOMEM;
	object->file = file_described(r, process, rec);
	object->mode = flags_posix_mode(rec->f_flags);
	object->name = "registered file";
	object->paradigm = fd_paradigm(r, object->file);
	return object->file == REF_NONE ? -ENOMEM : 0;
}

/* ---- the end of the replay ---- */

static int async_note(struct replay *r, uint64_t n, const char *what)
{
	return n ? model_note(r->model, "%llu asynchronous operations %s", (unsigned long long)n, what) : 0;
}

int async_finish(struct replay *r)
{
	uint64_t open = 0, silent = 0;
	int ret;

	for (const struct async_op *op = r->async; op; op = op->hh.next) {
		silent += op->matching_id && op->flags & IOP_ASYNC_SILENT;
		open += op->matching_id && !(op->flags & IOP_ASYNC_SILENT);
	}
	ret = async_note(r, open, "were under way at the end");
	ret = ret ? ret
		  : async_note(r, silent, "have no completion if they succeed, as the program asked (IOSQE_CQE_SKIP_SUCCESS)");
	ret = ret ? ret : async_note(r, r->async_unseen, "ended unseen");
	ret = ret ? ret : async_note(r, r->async_unknown, "ended that began before the recording");
	ret = ret ? ret : async_note(r, r->async_nameless, "were on unknown descriptors");
	return ret ? ret
		   : async_note(r, r->async_other, "are counted only: they move no data of a file (polls, time-outs, names, …)");
}

void async_free(struct replay *r)
{
	struct async_op *op, *next;

	HASH_ITER(hh, r->async, op, next) {
		HASH_DEL(r->async, op);
		op_free(op);
	}
}
