/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of library calls on handles, at entry and at return. Calls on descriptors are in fdops.c.
 */
#include "replay/ops.h"
#include "replay/async/aio.h"
#include "replay/async/async.h"
#include "replay/events.h"
#include "replay/facts/facts.h"
#include "replay/fd/fdops.h"
#include "replay/fd/fds.h"
#include "replay/flags.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/library/parents.h"
#include "replay/library/requests.h"
#include "replay/library/streams.h"
#include "replay/mpi/comms.h"
#include "replay/op_events.h"
#include "replay/sizes/iterations.h"
#include "replay/sizes/known.h"
#include "replay/sizes/sized.h"
#include "replay/sizes/elements.h"
#include "replay/sizes/shapes.h"
#include "replay/sizes/spaces.h"
#include "replay/sizes/types.h"

#include <errno.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <string.h>

/* ---- calls of libraries, at entry ---- */

static bool object_key_value(const struct replay *r, const struct thread *thread, const struct frame *f, uint64_t *value)
{
	const struct table_row *row = frame_row(r, f);
	int64_t arg;

	if (row->std_stream >= 0) {
		*value = STANDARD_STREAM(row->std_stream);
		return true;
	}
	if (!frame_info(r, f)->uses || !frame_arg(r, f, ROLE_HANDLE, &arg))
		return false;
	*value = stream_key(thread->process, row->layer, arg & frame_layer(r, f)->handle_mask);
	return true;
}

/* A handle whose creation was not recorded is assumed to have existed before, unless the call shows that it is not a handle. */
static bool ops_vouches(const struct replay *r, const struct frame *f)
{
	const struct table_row *row = frame_row(r, f);

	if (row->mods & MOD_AT_ZERO || (f->complete && f->failed))
		return false;
	return !f->complete || row->op == OP_READ || row->op == OP_WRITE || row->op == OP_SYNC || row->op == OP_SEEK ||
	       row->op == OP_CLOSE || row->op == OP_DUP || row->op == OP_LEARN;
}

/* Returns whether a call flushes or closes a handle that was made inside the same call of its layer, and so has none here
 * (making_is_inner): musl's freopen opens a second stream and closes it. */
static bool closes_inner(const struct replay *r, const struct thread *thread, const struct frame *f, uint64_t value)
{
	bool closes = frame_row(r, f)->op == OP_CLOSE || frame_row(r, f)->op == OP_SYNC;
	unsigned index = f - thread->frames;
	uint64_t own;

	while (closes && index--) {
		const struct frame *outer = &thread->frames[index];

		if (outer->doubtful)
			return false;
		if (outer->makes && frame_row(r, outer)->layer == frame_row(r, f)->layer)
			return !object_key_value(r, thread, outer, &own) || own != value;
	}
	return false;
}

static int hold_object(struct replay *r, struct thread *thread, struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	struct object *object;
	uint64_t value;

	if (!object_key_value(r, thread, f, &value))
		return 0;
	if (row->op == OP_SYNC && !value && frame_layer(r, f)->handle_kind == HANDLE_POINTER)   /* fflush(NULL): all streams */
		return 0;
	object = object_find(thread->process, row->layer, value);
	if (!object && (!ops_vouches(r, f) || closes_inner(r, thread, f, value)))
		return 0;
	if (!object) {
		object = object_add(r, thread->process, row->layer, value);
		if (!object)
			return -ENOMEM;
		stream_describe(r, thread->process, thread->table, object, f->enter_ns);
		if (object_place(r, thread, f - thread->frames, object))
			return -ENOMEM;
	}
	object->holders++;
	f->object = object;
	return 0;
}

/* Functions of one library call each other (getline and getdelim): only the outer call's operation is recorded. */
static bool operation_is_inner(const struct replay *r, const struct thread *thread, unsigned index)
{
	const struct frame *f = &thread->frames[index];

	while (index--) {
		const struct frame *outer = &thread->frames[index];

		if (outer->doubtful)
			return false;
		if (outer->begun && outer->object == f->object && frame_row(r, outer)->op == frame_row(r, f)->op)
			return true;
	}
	return false;
}

/* The same for calls that create a handle (nc_create and nc__create, tmpfile and fdopen): if both name a file it must be the same
 * one. */
static bool making_is_inner(const struct replay *r, const struct thread *thread, unsigned index)
{
	const struct frame *f = &thread->frames[index];

	if (frame_info(r, f)->arg[ROLE_PARENT] >= 0)
		return false;
	while (index--) {
		const struct frame *outer = &thread->frames[index];
		bool named = f->path && f->path[0] && outer->path && outer->path[0];

		if (outer->doubtful)
			return false;
		if (!outer->makes || frame_row(r, outer)->layer != frame_row(r, f)->layer ||
		    frame_info(r, outer)->arg[ROLE_PARENT] >= 0)
			continue;
		return !named || !strcmp(f->path, outer->path);
	}
	return false;
}

static int begin_on_object(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct table_row *row = frame_row(r, f);
	uint32_t handle;

	if (!f->object || row->mods & MOD_COMPLETES || (f->complete && f->failed && op_non_blocking(r, f)) ||
	    operation_is_inner(r, thread, index))
		return 0;
	handle = object_handle(r, thread->process, f->object);
	if (handle == REF_NONE)
		return -ENOMEM;
	file_was_used(r, thread, index, f->object->file);
	return op_begin(r, thread, f, handle, row->op == OP_READ ? OTF2_IO_OPERATION_MODE_READ :
			row->op == OP_WRITE ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_FLUSH);
}

static int start_making(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct open_file *inc;
	int64_t fd;
	int ret = op_path(r, thread, f);

	if (ret)
		return ret;
	f->makes = !making_is_inner(r, thread, index);
	if (!f->makes)
		return 0;
	if (frame_arg(r, f, ROLE_FD, &fd)) {
		inc = fd_find(r, thread->process, thread->table, (int32_t)fd, f->enter_ns);
		f->file = inc ? inc->file : REF_NONE;
		f->resolved = inc;
	}
	return op_comm_enter(r, thread, index);
}

int op_enter(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct row_info *info = frame_info(r, f);
	enum table_op op = frame_row(r, f)->op;
	int ret;

	if (info->fd && op == OP_QUEUE)
		async_forget_submitted(r, thread);
	if (info->paradigm == REF_NONE || info->fd)
		return 0;
	if (info->on_fd)
		return aio_enter(r, thread, index);
	if (info->makes)
		return start_making(r, thread, index);
	ret = hold_object(r, thread, f);
	if (!ret && (op == OP_READ || op == OP_WRITE || op == OP_SYNC))
		ret = begin_on_object(r, thread, index);
	return ret;
}

/* ---- calls of libraries, at return ---- */

static bool made_value(const struct replay *r, const struct thread *thread, const struct frame *f, uint64_t *value)
{
	int64_t out;

	if (frame_row(r, f)->result == RESULT_HANDLE)
		*value = f->ret;
	else if (!frame_info(r, f)->uses && frame_arg(r, f, ROLE_HANDLE, &out))
		*value = out;
	else
		return false;
	*value = stream_key(thread->process, frame_row(r, f)->layer, *value & frame_layer(r, f)->handle_mask);
	return true;
}

/* freopen: closes the previous stream. */
static int end_reopened(struct replay *r, struct thread *thread, struct frame *f)
{
	struct object *old;
	uint64_t value;
	int ret;

	if (!object_key_value(r, thread, f, &value))
		return 0;
	old = object_find(thread->process, frame_row(r, f)->layer, value);
	if (!old) {
		old = object_add(r, thread->process, frame_row(r, f)->layer, value);
		if (!old)
			return -ENOMEM;
		stream_describe(r, thread->process, thread->table, old, f->enter_ns);
	}
	if (f->file == REF_NONE && (!f->path || !f->path[0]))
		f->file = old->file;
	ret = op_destroy_event(r, thread, f, object_handle(r, thread->process, old));
	object_forget(thread->process, old);
	return ret;
}

static void made_flags(const struct replay *r, const struct frame *f, uint8_t *mode, uint32_t *creation, uint32_t *status)
{
	int64_t flags = 0;
	struct str stream_mode = frame_string(r, f, ROLE_STREAM_MODE);

	*mode = OTF2_IO_ACCESS_MODE_READ_WRITE;
	*creation = *status = 0;
	if (frame_info(r, f)->arg[ROLE_STREAM_MODE] >= 0)
		flags_stream(stream_mode, mode, creation, status);
	else if (frame_arg(r, f, ROLE_FLAGS, &flags) || frame_row(r, f)->op == OP_CREATE)
		flags_layer(frame_layer(r, f), flags, frame_row(r, f)->op == OP_CREATE, mode, creation, status);
}

/* Names of HDF5 objects inside their file, and the properties known for that name. */
static int made_inside(struct replay *r, struct thread *thread, struct frame *f, struct object *object)
{
	struct object *parent;
	int64_t value;
	int ret;

	if (!frame_info(r, f)->sized)
		return 0;
	ret = iterations_made(thread, object->key.value);
	if (ret)
		return ret;
	if (object->root) {
		object->inner = strdup("");
		object->others_write = frame_arg(r, f, ROLE_FLAGS, &value) && flags_others_write(frame_layer(r, f), value);
		return object->inner ? 0 : -ENOMEM;
	}
	if (!frame_arg(r, f, ROLE_PARENT, &value))
		return 0;
	parent = object_find(thread->process, frame_row(r, f)->layer, value & frame_layer(r, f)->handle_mask);
	ret = parent ? known_place(r, f, object, parent) : 0;
	return ret ? ret : known_opened(r, thread, f, object);
}

static int ops_made(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	uint32_t creation, status, ref;
	struct object *object;
	uint64_t value;
	uint8_t mode;
	int ret = end_reopened(r, thread, f);

	if (ret)
		return ret;
	frame_resolve(r, thread, index);
	ref = frame_handle(r, thread, index);
	made_flags(r, f, &mode, &creation, &status);
	ret = op_create_event(r, thread, f, ref, mode, creation, status);
	if (ret || !made_value(r, thread, f, &value))
		return ret;
	object = object_add(r, thread->process, frame_row(r, f)->layer, value);
	if (!object)
		return -ENOMEM;
	object->ref = ref;
	object->root = frame_info(r, f)->arg[ROLE_PARENT] < 0;
	object->file = f->file;
	object->comm = r->model->handles.v[ref].comm;
	object->name = r->model->handles.v[ref].name;
	object->mode = mode;
	ret = made_inside(r, thread, f, object);
	if (ret)
		return ret;
	object->delete_on_close = status & OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE;
	ret = shape_learn_header(r, f, object);
	return ret ? ret : static_facts_made(r, thread, f, object);
}

static int ops_duplicated(struct replay *r, struct thread *thread, struct frame *f)
{
	struct model_event event = { .type = EV_DUPLICATE };
	struct model_handle def;
	struct object *object;
	uint64_t value;

	if (!f->object || !made_value(r, thread, f, &value))
		return 0;
	event.u.duplicate.old_handle = object_handle(r, thread->process, f->object);
	def = (struct model_handle){ .name = f->object->name,
				     .file = f->object->file,
				     .paradigm = f->object->paradigm,
				     .comm = REF_NONE,
				     .parent = REF_NONE,
				     .group = thread->process->group };
	object = object_add(r, thread->process, frame_row(r, f)->layer, value);
	if (!object || event.u.duplicate.old_handle == REF_NONE)
		return -ENOMEM;
	object->file = def.file;
	object->name = def.name;
	object->ref = event.u.duplicate.new_handle = handle_new(r, &def);
	return object->ref == REF_NONE ? -ENOMEM : call_event(r, thread, &event, f->leave_ns);
}

static int ops_closed(struct replay *r, struct thread *thread, struct frame *f)
{
	struct object *object = f->object;
	int ret = 0;

	if (!object || object->closed)
		return 0;
	if (frame_row(r, f)->mods & MOD_AT_ZERO ? f->ret != 0 : object->references != 0) {
		object->references -= object->references != 0;
		return 0;
	}
	object->closed = true;  /* pclose calls fclose */
	if (frame_row(r, f)->mods & MOD_DELETES && object->delete_on_close && object->file != REF_NONE)
		ret = op_delete_event(r, thread, f, object->file);
	if (!ret)
		ret = op_destroy_event(r, thread, f, object_handle(r, thread->process, object));
	if (frame_info(r, f)->sized)
		sized_forget(thread->process, object->key.value);
	if (object_find(thread->process, object->key.layer, object->key.value) == object)
		object_forget(thread->process, object);
	return ret;
}

/* Ends an operation whose issuing call did not return normally. If the call was left, the operation may be pending: it stays open
 * and is counted. If the call failed, the operation ended with it; OTF2 requires that a cancelled operation has been issued. */
static int end_unissued(struct replay *r, struct thread *thread, struct frame *f)
{
	struct model_event event = { .type = EV_ISSUED, .u.op = { f->used, f->matching_id } };
	int ret;

	if (f->abandoned) {
		r->requests_left++;
		return 0;
	}
	ret = call_event(r, thread, &event, f->leave_ns);
	event.type = EV_CANCELLED;
	return ret ? ret : call_event(r, thread, &event, f->leave_ns);
}

/* Ends a begun operation: completed, issued or cancelled. */
static int ops_end_operation(struct replay *r, struct thread *thread, struct frame *f)
{
	struct model_event event = { .type = EV_ISSUED, .u.op = { f->used, f->matching_id } };
	int ret;

	if (!op_non_blocking(r, f))
		return op_complete(r, thread, f, f->used);
	if (f->failed || (f->abandoned && !f->unseen))
		return end_unissued(r, thread, f);
	if (frame_info(r, f)->arg[ROLE_REQUEST] < 0 && f->object)
		f->object->split_id = f->matching_id;
	ret = call_event(r, thread, &event, f->leave_ns);
	if (frame_info(r, f)->sized && frame_info(r, f)->arg[ROLE_TYPE] >= 0)
		f->request = space_file_bytes(r, thread, f);    /* bytes that will be moved */
	return ret ? ret : request_issued(r, thread, f);
}

/* The _end call of a split collective. */
static int end_split(struct replay *r, struct thread *thread, struct frame *f)
{
	struct object *object = f->object;
	int ret;

	if (!object || !object->split_id)
		return 0;
	f->matching_id = object->split_id;
	object->split_id = 0;
	ret = op_complete(r, thread, f, object_handle(r, thread->process, object));
	return ret;
}

static int library_leave(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	uint32_t handle;

	switch (frame_row(r, f)->op) {
	case OP_OPEN:
	case OP_CREATE:
		return f->makes ? ops_made(r, thread, index) : 0;
	case OP_DUP:
		return ops_duplicated(r, thread, f);
	case OP_CLOSE:
		return ops_closed(r, thread, f);
	case OP_DELETE:
	case OP_RENAME:
		return op_delete(r, thread, f);
	case OP_SEEK:
		handle = f->object ? object_handle(r, thread->process, f->object) : REF_NONE;
		return handle == REF_NONE ? 0 : op_seek(r, thread, f, handle);
	case OP_META:
		if (frame_row(r, f)->mods & MOD_RENAMES && f->object)
			known_renamed(thread->process, f->object);
		/* fall through */
	case OP_LEARN:
		return frame_info(r, f)->sized ? 0 : shape_learn(r, thread, f);
	default:
		return 0;
	}
}

static bool is_of_requests(enum table_op op)
{
	return op == OP_WAIT || op == OP_TEST || op == OP_CANCEL || op == OP_FREE;
}

int op_leave(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	const struct row_info *info = frame_info(r, f);
	int ret = op_comm_leave(r, thread, f);

	if (!ret && info->facts && !f->failed && !f->abandoned)
		ret = static_facts_leave(r, thread, index);
	if (ret)
		return ret;
	if (info->paradigm == REF_NONE)
		return 0;
	if (info->fd && frame_row(r, f)->op == OP_QUEUE)
		return async_submitted(r, thread, f);
	if (info->fd)
		return f->complete && !f->abandoned ? op_descriptor(r, thread, index) : 0;
	if (f->begun && !f->failed && !f->abandoned && info->arg[ROLE_SPACE2] >= 0)
		shape_from_below(r, thread, index, space_rank(r, thread, f));
	ret = info->on_fd ? aio_begin(r, thread, index) : 0;
	if (ret)
		return ret;
	if (frame_row(r, f)->op == OP_SYNC && f->object)
		shape_synced(f->object);
	if (f->begun)
		return ops_end_operation(r, thread, f);
	if (info->on_fd)
		return aio_leave(r, thread, index);
	if (is_of_requests(frame_row(r, f)->op))
		return requests_leave(r, thread, f);
	if (f->failed || f->abandoned)
		return 0;
	ret = info->sized ? space_learn(r, thread, f) : 0;
	if (ret)
		return ret;
	return frame_row(r, f)->mods & MOD_COMPLETES ? end_split(r, thread, f) : library_leave(r, thread, index);
}
