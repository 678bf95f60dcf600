/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Events of operations on handles in all layers: creation, begin, completion, close, seek, deletion; their paths and sizes.
 */
#include "replay/op_events.h"
#include "replay/async/helpers.h"
#include "replay/call_names.h"
#include "replay/events.h"
#include "replay/files.h"
#include "replay/flags.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/library/streams.h"
#include "replay/mpi/mpich.h"
#include "replay/paths.h"
#include "replay/sizes/elements.h"
#include "replay/sizes/shapes.h"
#include "replay/sizes/types.h"

#include <errno.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <string.h>

/* ---- paths ---- */

int op_path(struct replay *r, struct thread *thread, struct frame *f)
{
	struct str path = frame_string(r, f, ROLE_PATH);

	if (!path.p || !path.len)
		return 0;
	path = name_without_driver(r, f, path);
	f->tree = name_of_local_address(r, f, &path);
	if (memmem(path.p, path.len, "://", 3))         /* an address of netCDF's, no path */
		return path_absolute(&f->path, &f->path_size, NULL, path.p, path.len);
	return path_absolute(&f->path, &f->path_size, name_directory(r, thread, f, ROLE_DIRFD), path.p, path.len);
}

/* ---- sizes: one rule for each kind of argument and result ---- */

/* A value at an offset behind an argument has the meaning in the table only in libraries of the known ABI. */
static bool library_arg(const struct replay *r, const struct thread *thread, const struct frame *f, enum table_role role,
			int64_t *value)
{
	const struct library *library = &thread->process->libraries[r->abi_layer[frame_row(r, f)->layer]];

	if (!frame_arg(r, f, role, value))
		return false;
	if (!library->narrow || r->abi_layer[frame_row(r, f)->layer] != frame_row(r, f)->layer)
		return library->known_abi;
	if (role == ROLE_DATATYPE)
		return mpich_type_bytes(*value, value);
	*value = mpich_status_bytes(*value);
	return role == ROLE_STATUS;
}

static uint64_t bytes_requested(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	int64_t a, b;
	uint64_t product;

	if (f->listed)
		return f->listed->bytes;
	if (frame_arg(r, f, ROLE_BYTES, &a))
		return a;
	if (frame_arg(r, f, ROLE_SIZE, &a) && frame_arg(r, f, ROLE_ITEMS, &b))
		return __builtin_mul_overflow((uint64_t)a, (uint64_t)b, &product) ? BYTES_UNKNOWN : product;
	if (frame_arg(r, f, ROLE_IOV, &a))
		return a;
	if (frame_arg(r, f, ROLE_COUNT, &a) && library_arg(r, thread, f, ROLE_DATATYPE, &b) && !shape_decides(r, f, a, b))
		return __builtin_mul_overflow((uint64_t)a, (uint64_t)b, &product) ? BYTES_UNKNOWN : product;
	return frame_row(r, f)->result == RESULT_CHAR ? 1 : shape_bytes(r, thread, f);
}

static uint64_t bytes_moved(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	int64_t size;

	if (f->failed || f->abandoned || f->end_or_error)
		return BYTES_UNKNOWN;
	if (f->at_end && frame_row(r, f)->result != RESULT_COUNT)       /* fscanf may have skipped blanks */
		return 0;
	if (frame_arg(r, f, ROLE_MOVED, &size))
		return size;
	if (frame_info(r, f)->arg[ROLE_UNREAD] >= 0)
		return stream_bytes_read(r, f);
	if (frame_info(r, f)->arg[ROLE_MOVED] >= 0)
		return BYTES_UNKNOWN;
	switch (frame_row(r, f)->result) {
	case RESULT_BYTES:      /* recv with MSG_TRUNC returns the length of a datagram even if fewer bytes were moved */
		return frame_layer(r, f)->sockets && (uint64_t)f->ret > f->request ? f->request : (uint64_t)f->ret;
	case RESULT_ITEMS:
		return frame_arg(r, f, ROLE_SIZE, &size) ? (uint64_t)f->ret * size : BYTES_UNKNOWN;
	case RESULT_CHAR:
		return 1;
	/* the status has the size; else the call moved all or failed; the operands of a size may be known only now */
	case RESULT_STATUS:
		if (library_arg(r, thread, f, ROLE_STATUS, &size))
			return size;
		if (frame_info(r, f)->arg[ROLE_STATUS] >= 0)
			return BYTES_UNKNOWN;
		if (frame_info(r, f)->sized && frame_info(r, f)->arg[ROLE_TYPE] >= 0)
			return space_file_bytes(r, thread, f);
		if (f->request != BYTES_UNKNOWN)
			return f->request;
		size = bytes_requested(r, thread, f);
		return (uint64_t)size != BYTES_UNKNOWN ? (uint64_t)size : shape_bytes_from_below(r, f);
	default:
		return BYTES_UNKNOWN;
	}
}

/* ---- events ---- */

/* HDF5's _async calls take an event set; 0 (H5ES_NONE) makes them synchronous. */
bool op_non_blocking(const struct replay *r, const struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	int64_t request;

	if (f->listed)
		return true;
	if (!(row->mods & MOD_NONBLOCKING))
		return false;
	if (frame_info(r, f)->nout || !frame_arg(r, f, ROLE_REQUEST, &request))
		return true;
	return request != 0;
}

/* Whether an operation is collective: by its function, or by earlier settings (HDF5's transfer property list, netCDF's access mode
 * of a variable). A handle that was opened before the recording has an unknown communicator; one that was opened without a
 * communicator (serially) has no collective operations. */
static bool op_events_collective(const struct replay *r, const struct thread *thread, const struct frame *f, uint32_t ref)
{
	const struct model_handle *handle = &r->model->handles.v[ref];

	if (frame_info(r, f)->arg[ROLE_TRANSFER] >= 0)
		return layer_parallel(r, thread->process, frame_row(r, f)->layer) && space_collective(r, thread, f);
	if (!(frame_row(r, f)->mods & MOD_COLLECTIVE) && !shape_collective(r, f))
		return false;
	return handle->comm != REF_NONE || (handle->precreated && layer_parallel(r, thread->process, frame_row(r, f)->layer));
}

static uint64_t op_events_offset_of(const struct replay *r, const struct frame *f)
{
	int64_t offset;

	if (f->listed)
		return f->listed->offset;
	/* -1 is the current position (preadv2); other negative values are not offsets */
	if (frame_row(r, f)->op == OP_SYNC || !frame_arg(r, f, ROLE_OFFSET, &offset) || offset < 0)
		return OFFSET_UNKNOWN;
	return offset;
}

/* Returns the matching id of the request of asynchronous I/O that a system call carries out, 0 if it does not. */
static uint64_t request_carried_out(struct replay *r, struct thread *thread, const struct frame *f, uint64_t offset)
{
	struct helper_work work = { .offset = offset, .bytes = f->request, .mode = f->mode };
	int64_t fd;

	if (!frame_arg(r, f, ROLE_HANDLE, &fd))
		return 0;
	work.fd = fd;
	return helper_request(r, thread, f, &work);
}

int op_begin(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle, uint8_t mode)
{
	struct model_event event = event_blank;

	event.type = EV_BEGIN;
	event.u.begin.handle = handle;
	event.u.begin.mode = mode;
	event.u.begin.offset = op_events_offset_of(r, f);
	if (op_non_blocking(r, f))
		event.u.begin.flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
	if (op_events_collective(r, thread, f, handle))
		event.u.begin.flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
	f->begun = true;
	f->mode = mode;
	f->used = handle;
	f->matching_id = f->reserved_id ? f->reserved_id : ++r->matching_id;
	f->request = mode == OTF2_IO_OPERATION_MODE_FLUSH ? BYTES_UNKNOWN : bytes_requested(r, thread, f);
	event.u.begin.bytes = f->request;
	event.u.begin.variable = shape_variable(r, f);
	event.u.begin.unaligned = f->unaligned;
	event.u.begin.matching_id = f->matching_id;
	if (frame_info(r, f)->fd)
		event.u.begin.request = request_carried_out(r, thread, f, event.u.begin.offset);
	return call_event(r, thread, &event, f->reserved_id && thread->last_ns > f->enter_ns ? thread->last_ns : f->enter_ns);
}

int op_complete(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle)
{
	struct model_event event = event_blank;
	bool data = frame_row(r, f)->op != OP_SYNC, failed = f->failed || (f->abandoned && !f->unseen);

	event.type = EV_COMPLETE;
	event.u.complete.handle = handle;
	event.u.complete.matching_id = f->matching_id;
	event.u.complete.failed = failed;
	event.u.complete.bytes = data ? bytes_moved(r, thread, f) : BYTES_UNKNOWN;
	r->model->totals.unknown_sizes += data && !failed && event.u.complete.bytes == BYTES_UNKNOWN;
	return call_event(r, thread, &event, f->leave_ns);
}

int op_create_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle, uint8_t mode,
		    uint32_t creation, uint32_t status)
{
	struct model_event event = { .type = EV_CREATE, .u.create = { handle, mode, creation, status } };

	return handle == REF_NONE ? -ENOMEM : call_event(r, thread, &event, f->leave_ns);
}

int op_destroy_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle)
{
	struct model_event event = { .type = EV_DESTROY, .u.destroy.handle = handle };

	return handle == REF_NONE ? -ENOMEM : call_event(r, thread, &event, f->leave_ns);
}

int op_delete_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t file)
{
	struct model_event event = { .type = EV_DELETE, .u.del = { .paradigm = frame_info(r, f)->paradigm, .file = file } };

	return call_event(r, thread, &event, f->leave_ns);
}

int op_delete(struct replay *r, struct thread *thread, struct frame *f)
{
	uint32_t file;
	int ret = op_path(r, thread, f);

	if (ret || !f->path || !f->path[0])
		return ret;
	file = file_by_path(r, thread->process, f->path);
	return file == REF_NONE ? -ENOMEM : op_delete_event(r, thread, f, file);
}

/* Returns the position after the call, if the call or its arguments contain it. MPI counts in units of the view. */
static uint64_t seek_result(const struct replay *r, const struct frame *f, int64_t request, uint8_t whence)
{
	if (frame_row(r, f)->result == RESULT_OFFSET)
		return f->ret;
	if (whence == OTF2_IO_SEEK_FROM_START && frame_layer(r, f)->klass == CLASS_SERIAL)
		return request;
	return OFFSET_UNKNOWN;
}

int op_seek(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle)
{
	struct model_event event = { .type = EV_SEEK, .u.seek = { .handle = handle, .whence = OTF2_IO_SEEK_FROM_START } };
	int64_t request = 0, whence;    /* rewind has neither argument */

	if (frame_info(r, f)->arg[ROLE_OFFSET] >= 0 && !frame_arg(r, f, ROLE_OFFSET, &request))
		return 0;
	if (frame_arg(r, f, ROLE_WHENCE, &whence))
		event.u.seek.whence = flags_whence(frame_layer(r, f), whence);
	event.u.seek.request = request;
	event.u.seek.result = seek_result(r, f, request, event.u.seek.whence);
	return call_event(r, thread, &event, f->leave_ns);
}
