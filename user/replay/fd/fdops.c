/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of system calls on descriptors. All are decided at the return, for the file that the descriptor referred to at the
 * entry.
 */
#include "replay/fd/fdops.h"
#include "replay/events.h"
#include "replay/fd/fd_epochs.h"
#include "replay/fd/fds.h"
#include "replay/fd/locks.h"
#include "replay/files.h"
#include "replay/flags.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/library/parents.h"
#include "replay/op_events.h"

#include <errno.h>
#include <fcntl.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* ---- open ---- */

/* Returns the flags passed to open(2); if they could not be read, those of the open file. */
static int64_t open_flags(const struct replay *r, const struct frame *f, bool *known)
{
	int64_t flags = 0;

	*known = frame_arg(r, f, ROLE_FLAGS, &flags);
	if (!*known && frame_row(r, f)->op == OP_CREATE && frame_info(r, f)->arg[ROLE_FLAGS] < 0) {
		*known = true;
		flags = O_CREAT | O_WRONLY | O_TRUNC;
	}
	return flags;
}

static int fdops_opened(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct description d = { .file = REF_NONE, .mode = OTF2_IO_ACCESS_MODE_READ_WRITE };
	struct model_handle def = { .name = "", .comm = REF_NONE, .group = thread->process->group };
	struct open_file *inc;
	uint32_t creation = 0;
	int64_t flags;
	bool known;
	int ret = op_path(r, thread, f);

	if (ret)
		return ret;
	fd_take_hint(thread->table, f->ret, &d);
	if (d.file == REF_NONE && f->path && f->path[0])
		d.file = file_by_path(r, thread->process, f->path);
	flags = open_flags(r, f, &known);
	if (known) {
		d.mode = flags_posix_mode(flags);
		d.status_flags = flags_posix_status(flags);
		creation = flags_posix_creation(flags);
	}
	file_was_made(r, thread, index, d.file, f->path);
	def.file = d.file;
	def.paradigm = fd_paradigm(r, d.file);
	def.parent = parent_of(r, thread, index, d.file, f->path);
	inc = fd_open(thread->table, f->ret, f->leave_ns);
	if (!inc)
		return -ENOMEM;
	inc->file = d.file;
	inc->mode = d.mode;
	inc->status_flags = d.status_flags;
	inc->ref = handle_new(r, &def);
	return op_create_event(r, thread, f, inc->ref, d.mode, creation, d.status_flags);
}

/* Ends the open file that the number referred to. Returns the handle that this call destroys: none if other calls are running on
 * it. */
static int end_open_file(struct replay *r, struct thread *thread, const struct frame *f, int64_t fd, uint32_t *destroyed)
{
	struct open_file *inc = fd_find(r, thread->process, thread->table, fd, f->enter_ns);
	uint32_t handle;

	*destroyed = REF_NONE;
	if (!inc)
		return 0;
	handle = fd_handle(r, thread->process, fd, inc);
	inc->closed_ns = f->leave_ns;
	locks_closed(thread->process, inc->file);
	if (!fd_epoch_end(thread, f, fd, inc))
		*destroyed = handle;
	return handle == REF_NONE ? -ENOMEM : 0;
}

static int fdops_replaced(struct replay *r, struct thread *thread, const struct frame *f, int64_t fd)
{
	uint32_t destroyed;
	int ret = end_open_file(r, thread, f, fd, &destroyed);

	return ret || destroyed == REF_NONE ? ret : op_destroy_event(r, thread, f, destroyed);
}

/* Returns the open file of a duplicate; other calls may have used it already. */
static struct open_file *new_duplicate(struct replay *r, struct thread *thread, const struct frame *f,
				       const struct model_handle *def,
					 bool *overlapped)
{
	struct open_file *inc = fd_epoch_made(thread, f, f->ret, overlapped);

	if (!inc) {
		inc = fd_open(thread->table, f->ret, f->leave_ns);
		if (inc)
			fd_epoch_begun(thread, f, f->ret, inc);
	}
	if (inc && inc->ref != REF_NONE) {
		r->undescribed -= r->model->handles.v[inc->ref].file == REF_NONE;
		r->model->handles.v[inc->ref] = *def;
	} else if (inc) {
		inc->ref = handle_new(r, def);
	}
	return inc && inc->ref != REF_NONE ? inc : NULL;
}

/* dup2 may replace a descriptor that is in use. Calls of other threads may use the new file before dup2 has returned: then the
 * handle exists from the entry of dup2 on. */
static int fdops_duplicated(struct replay *r, struct thread *thread, unsigned index, bool onto, bool cloexec)
{
	struct frame *f = &thread->frames[index];
	struct model_event event = { .type = EV_DUPLICATE };
	struct model_handle def = { .name = "", .comm = REF_NONE, .group = thread->process->group };
	uint32_t destroyed = REF_NONE;
	struct open_file from, *inc;
	struct description d;
	struct fd_use old;
	bool overlapped;
	int ret;

	fd_take_hint(thread->table, f->ret, &d);
	ret = fd_use(r, thread, f, ROLE_HANDLE, &old);
	if (ret || !old.inc || old.fd == f->ret)
		return ret;
	from = *old.inc;
	ret = onto ? end_open_file(r, thread, f, f->ret, &destroyed) : 0;
	if (ret)
		return ret;
	if (fd_standard_name(f->ret))
		def.name = fd_standard_name(f->ret);
	def.file = from.file;
	def.paradigm = fd_paradigm(r, from.file);
	def.parent = parent_of(r, thread, index, from.file, NULL);
	inc = new_duplicate(r, thread, f, &def, &overlapped);
	if (!inc)
		return -ENOMEM;
	inc->file = from.file;
	inc->mode = from.mode;
	inc->status_flags = from.status_flags & ~OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	if (cloexec)
		inc->status_flags |= OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	event.u.duplicate.old_handle = old.handle;
	event.u.duplicate.new_handle = inc->ref;
	event.u.duplicate.status_flags = inc->status_flags;
	ret = overlapped ? call_event(r, thread, &event, f->enter_ns) : 0;
	if (!ret && destroyed != REF_NONE)
		ret = op_destroy_event(r, thread, f, destroyed);
	return ret || overlapped ? ret : call_event(r, thread, &event, f->leave_ns);
}

static int dup_call(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	int64_t flags = 0;

	frame_arg(r, f, ROLE_FLAGS, &flags);
	return fdops_duplicated(r, thread, index, frame_info(r, f)->arg[ROLE_HANDLE2] >= 0, flags & O_CLOEXEC);
}

/* ---- close ---- */

static int closed_one(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct fd_use use;
	int ret;

	/* Linux frees the number even if the last write failed (close(2), notes): the file is then closed without an event. */
	if (f->failed && f->ret == -EBADF)
		return 0;
	ret = fd_use(r, thread, f, ROLE_HANDLE, &use);
	if (ret || !use.inc)
		return ret;
	use.inc->closed_ns = f->leave_ns;
	locks_closed(thread->process, use.inc->file);
	return fd_epoch_end(thread, f, use.fd, use.inc) || f->failed ? 0 : op_destroy_event(r, thread, f, use.handle);
}

static int set_cloexec(struct replay *r, struct thread *thread, const struct frame *f, const struct fd_use *use, bool on)
{
	struct model_event event = { .type = EV_STATUS_FLAGS };

	if (on)
		use->inc->status_flags |= OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	else
		use->inc->status_flags &= ~OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	event.u.status.handle = use->handle;
	event.u.status.status_flags = use->inc->status_flags;
	return call_event(r, thread, &event, f->leave_ns);
}

static int closed_range(struct replay *r, struct thread *thread, const struct frame *f)
{
	int64_t first = 0, last = 0, flags = 0;
	int ret = 0;

	if (f->failed || !frame_arg(r, f, ROLE_HANDLE, &first) || !frame_arg(r, f, ROLE_HANDLE2, &last))
		return 0;
	frame_arg(r, f, ROLE_FLAGS, &flags);
	for (size_t fd = (uint32_t)first; fd < thread->table->nfds && fd <= (uint32_t)last && !ret; fd++) {
		struct fd_use use = { .fd = fd, .inc = fd_find(r, thread->process, thread->table, fd, f->enter_ns) };

		if (!use.inc)
			continue;
		use.handle = fd_handle(r, thread->process, fd, use.inc);
		if (flags & CLOSE_RANGE_CLOEXEC)
			ret = set_cloexec(r, thread, f, &use, true);
		else
			ret = fdops_replaced(r, thread, f, fd);
	}
	return ret;
}

/* ---- use ---- */

static int fdops_moved(struct replay *r, struct thread *thread, unsigned index, enum table_role role, uint8_t mode)
{
	struct frame *f = &thread->frames[index];
	struct fd_use use;
	int ret = fd_use(r, thread, f, role, &use);

	if (ret || !use.inc)
		return ret;
	file_was_used(r, thread, index, use.inc->file);
	ret = op_begin(r, thread, f, use.handle, mode);
	return ret ? ret : op_complete(r, thread, f, use.handle);
}

/* The two operations of a copy overlap: each is written with the duration of the whole call. */
static int fdops_copied(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct fd_use from, to;
	uint64_t read_id;
	int ret = fd_use(r, thread, f, ROLE_HANDLE, &from);

	if (!ret)
		ret = fd_use(r, thread, f, ROLE_HANDLE2, &to);
	if (ret || !from.inc || !to.inc)
		return ret;
	ret = op_begin(r, thread, f, from.handle, OTF2_IO_OPERATION_MODE_READ);
	read_id = f->matching_id;
	if (!ret)
		ret = op_begin(r, thread, f, to.handle, OTF2_IO_OPERATION_MODE_WRITE);
	if (!ret)
		ret = op_complete(r, thread, f, to.handle);
	f->matching_id = read_id;
	return ret ? ret : op_complete(r, thread, f, from.handle);
}

static int fdops_positioned(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct fd_use use;
	int ret = fd_use(r, thread, f, ROLE_HANDLE, &use);

	return ret || !use.inc ? ret : op_seek(r, thread, f, use.handle);
}

static int set_status(struct replay *r, struct thread *thread, const struct frame *f, const struct fd_use *use, int64_t arg)
{
	/* fcntl(2): F_SETFL can change only these */
	const uint32_t settable = OTF2_IO_STATUS_FLAG_APPEND | OTF2_IO_STATUS_FLAG_ASYNC | OTF2_IO_STATUS_FLAG_AVOID_CACHING |
				  OTF2_IO_STATUS_FLAG_NO_ACCESS_TIME | OTF2_IO_STATUS_FLAG_NON_BLOCKING;
	struct model_event event = { .type = EV_STATUS_FLAGS };

	use->inc->status_flags = (use->inc->status_flags & ~settable) | (flags_posix_status(arg) & settable);
	event.u.status.handle = use->handle;
	event.u.status.status_flags = use->inc->status_flags;
	return call_event(r, thread, &event, f->leave_ns);
}

static int fdops_controlled(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct fd_use use;
	int64_t cmd, arg = 0;
	int ret;

	if (!frame_arg(r, f, ROLE_CMD, &cmd))
		return 0;
	if (lock_command(cmd))
		return op_record_lock(r, thread, f);
	if (f->failed)
		return 0;
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		return fdops_duplicated(r, thread, index, false, cmd == F_DUPFD_CLOEXEC);
	if ((cmd != F_SETFL && cmd != F_SETFD) || !frame_arg(r, f, ROLE_ARG, &arg))
		return 0;
	ret = fd_use(r, thread, f, ROLE_HANDLE, &use);
	if (ret || !use.inc)
		return ret;
	return cmd == F_SETFL ? set_status(r, thread, f, &use, arg) : set_cloexec(r, thread, f, &use, arg & FD_CLOEXEC);
}

/* Stores to a shared mapping change the file without a call. */
static void count_writable(struct replay *r, const struct frame *f, uint32_t file)
{
	int64_t bytes = 0, protection = 0, flags = MAP_PRIVATE;

	if (file == REF_NONE || !frame_arg(r, f, ROLE_ARG, &protection) || !frame_arg(r, f, ROLE_FLAGS, &flags) ||
	    !frame_arg(r, f, ROLE_BYTES, &bytes))
		return;
	if ((protection & PROT_WRITE) && (flags & MAP_TYPE) != MAP_PRIVATE)
		r->model->files.v[file].writable_bytes += bytes;
}

/* Mappings are written at the end of the call: OTF2 has no event for them. */
static int fdops_mapped(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct fd_use use;
	int ret = fd_use(r, thread, f, ROLE_HANDLE, &use);

	if (ret || !use.inc)
		return ret;
	f->used = use.handle;
	f->maps = true;
	count_writable(r, f, use.inc->file);
	return 0;
}

/* Writes the operation of a call at its return. A failed call has no operation; a failed data operation is written with the
 * requested size. */
static int descriptor_done(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];

	switch (frame_row(r, f)->op) {
	case OP_OPEN:
	case OP_CREATE:
		return fdops_opened(r, thread, index);
	case OP_DUP:
		return dup_call(r, thread, index);
	case OP_SEEK:
		return fdops_positioned(r, thread, f);
	case OP_MAP:
		return fdops_mapped(r, thread, index);
	case OP_DELETE:
	case OP_RENAME:
		return op_delete(r, thread, f);
	default:
		return 0;
	}
}

int op_descriptor(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];

	switch (frame_row(r, f)->op) {
	case OP_READ:
		return fdops_moved(r, thread, index, ROLE_HANDLE, OTF2_IO_OPERATION_MODE_READ);
	case OP_WRITE:
		return fdops_moved(r, thread, index, ROLE_HANDLE, OTF2_IO_OPERATION_MODE_WRITE);
	case OP_SYNC:
		return fdops_moved(r, thread, index, ROLE_HANDLE, OTF2_IO_OPERATION_MODE_FLUSH);
	case OP_COPY:
		return fdops_copied(r, thread, index);
	case OP_CLOSE:
		return frame_row(r, f)->mods & MOD_RANGE ? closed_range(r, thread, f) : closed_one(r, thread, f);
	case OP_LOCK:
	case OP_UNLOCK:
	case OP_TRYLOCK:
		return op_flock(r, thread, f);
	case OP_CONTROL:        /* of failed calls only a refused lock is written */
		return fdops_controlled(r, thread, index);
	default:
		return f->failed ? 0 : descriptor_done(r, thread, index);
	}
}
