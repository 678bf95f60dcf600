/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The descriptors of a table. A number is looked up at the time of a call's entry among its last few open files, so that threads
 * that close, open and use the same number concurrently each get the right file.
 */
#include "replay/fd/fds.h"
#include "replay/events.h"
#include "replay/fd/fd_epochs.h"
#include "replay/files.h"
#include "replay/flags.h"
#include "replay/library/handles.h"

#include <errno.h>
#include <otf2/OTF2_Definitions.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FD (1 << 22)

struct fd_slot *fd_slot(struct fd_table *table, int64_t fd)
{
	return fd >= 0 && (uint64_t)fd < table->nfds ? table->fds[fd] : NULL;
}

static struct fd_slot *slot_get(struct fd_table *table, int64_t fd)
{
	size_t wanted = table->nfds ? table->nfds : 64;
	struct fd_slot **grown;

	if (fd < 0 || fd >= MAX_FD)
		return NULL;
	while ((size_t)fd >= wanted)
		wanted *= 2;
	if (wanted > table->nfds) {
		grown = reallocarray(table->fds, wanted, sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + table->nfds, 0, (wanted - table->nfds) * sizeof(*grown));
		table->fds = grown;
		table->nfds = wanted;
	}
	if (!table->fds[fd])
		table->fds[fd] = calloc(1, sizeof(struct fd_slot));
	return table->fds[fd];
}

/* Returns the newest generation that existed at that time; a closed one is still valid while the close was running. */
static struct open_file *slot_at(struct fd_slot *slot, uint64_t time_ns)
{
	for (unsigned i = 0; i < slot->n; i++) {
		if (slot->v[i].created_ns > time_ns)
			continue;
		return time_ns < slot->v[i].closed_ns ? &slot->v[i] : NULL;
	}
	return NULL;
}

struct open_file *fd_push(struct fd_slot *slot, uint64_t time_ns)
{
	while (slot->n >= INCARNATIONS && !slot->v[slot->n - 1].running)
		slot->n--;
	if (slot->n == slot->cap) {
		unsigned cap = slot->cap ? 2 * slot->cap : 1; /* 100000 descriptors may be open, most have one generation */
		struct open_file *v = reallocarray(slot->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		slot->v = v;
		slot->cap = cap;
	}
	memmove(slot->v + 1, slot->v, slot->n * sizeof(slot->v[0]));
	slot->n++;
	slot->v[0] = (struct open_file){ .created_ns = time_ns, .closed_ns = NEVER, .ref = REF_NONE, .file = REF_NONE,
					.aio_ref = REF_NONE,
					 .other_ref = REF_NONE };
	return &slot->v[0];
}

/* A description belongs to the current open file; if it does not fit, another file was opened unobserved. */
static void apply_hint(struct replay *r, struct fd_slot *slot, uint64_t time_ns)
{
	struct description *hint = &slot->hint;
	struct open_file *inc = slot_at(slot, time_ns);

	hint->valid = false;
	if (inc && inc->file == REF_NONE) {
		inc->file = hint->file;
		if (inc->ref != REF_NONE)
			r->model->handles.v[inc->ref].file = hint->file;
		if (inc->aio_ref != REF_NONE)
			r->model->handles.v[inc->aio_ref].file = hint->file;
		if (inc->other_ref != REF_NONE)
			r->model->handles.v[inc->other_ref].file = hint->file;
	}
	if (inc && inc->file == hint->file)
		return;
	if (inc)
		inc->closed_ns = hint->time_ns;
	inc = fd_push(slot, slot->n ? hint->time_ns : 0);
	if (!inc)
		return;         /* out of memory; its next user fails too */
	inc->file = hint->file;
	inc->mode = hint->mode;
	inc->status_flags = hint->status_flags;
}

struct open_file *fd_find(struct replay *r, struct process *process, struct fd_table *table, int64_t fd, uint64_t time_ns)
{
	struct fd_slot *slot = fd_slot(table, fd);

	if (!slot)
		return NULL;
	if (slot->hint.valid && slot->hint.time_ns <= time_ns) {
		apply_hint(r, slot, time_ns);
		if (fd <= 2 && slot->n == 1 && !slot->v[0].created_ns)
			object_on_descriptor(r, process, fd, slot->v[0].file);
	}
	return slot_at(slot, time_ns);
}

struct open_file *fd_open(struct fd_table *table, int64_t fd, uint64_t time_ns)
{
	struct fd_slot *slot = slot_get(table, fd);

	return slot ? fd_push(slot, time_ns) : NULL;
}

struct open_file *fd_undescribed(struct fd_table *table, int64_t fd, uint64_t time_ns)
{
	struct fd_slot *slot = slot_get(table, fd);

	return slot ? fd_push(slot, slot->n ? time_ns : 0) : NULL;
}

bool fd_take_hint(struct fd_table *table, int64_t fd, struct description *out)
{
	struct fd_slot *slot = fd_slot(table, fd);

	if (!slot || !slot->hint.valid)
		return false;
	*out = slot->hint;
	slot->hint.valid = false;
	return true;
}

/* ---- descriptions ---- */

static struct description fds_describe(struct replay *r, struct process *process, const struct iop_rec_fd *rec)
{
	struct description d = {
		.time_ns = rec->rec.time_ns, .valid = true, .file = file_described(r, process, rec),
		.mode = flags_posix_mode(rec->f_flags), .status_flags = flags_posix_status(rec->f_flags),
	};

	if (rec->cloexec == 1)
		d.status_flags |= OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	else if (!rec->cloexec)
		d.status_flags &= ~OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
	return d;
}

/* A scan reads /proc while the process runs: information from the process' own calls is preferred. */
static int fds_scanned(struct replay *r, struct process *process, struct fd_slot *slot, const struct iop_rec_fd *rec)
{
	if (slot->n || slot->hint.valid)
		return 0;
	slot->hint = fds_describe(r, process, rec);
	apply_hint(r, slot, rec->rec.time_ns);
	return !slot->n || fd_handle(r, process, rec->fd, &slot->v[0]) == REF_NONE ? -ENOMEM : 0;
}

int fd_record(struct replay *r, struct process *process, struct fd_table *table, const struct iop_rec_fd *rec)
{
	struct fd_slot *slot = slot_get(table, rec->fd);

	if (!slot)
		return rec->fd < 0 || rec->fd >= MAX_FD ? 0 : -ENOMEM;
	if (rec->rec.flags & IOP_F_SCAN)
		return fds_scanned(r, process, slot, rec);
	slot->hint = fds_describe(r, process, rec);
	return slot->hint.file == REF_NONE ? -ENOMEM : 0;
}

/* ---- handles ---- */

const char *fd_standard_name(int64_t fd)
{
	static const char *const standard[] = { "stdin", "stdout", "stderr" };

	return fd >= 0 && fd <= 2 ? standard[fd] : NULL;
}

static const char *fd_name(struct replay *r, int64_t fd, const struct open_file *inc)
{
	if (fd_standard_name(fd))
		return fd_standard_name(fd);
	return inc->file == REF_NONE ? model_stringf(r->model, "fd %lld", (long long)fd) : "";
}

uint32_t fd_paradigm(const struct replay *r, uint32_t file)
{
	bool socket = file != REF_NONE && r->files.v[file].socket && r->socket_paradigm != REF_NONE;

	return socket ? r->socket_paradigm : r->fd_paradigm;
}

/* Handles belong to processes: each process that shares the table has its own. Returns where this process' handle is stored. */
static uint32_t *handle_place(const struct replay *r, const struct process *process, struct open_file *inc)
{
	if (inc->ref == REF_NONE || r->model->handles.v[inc->ref].group == process->group)
		return &inc->ref;
	if (inc->other_group != process->group)
		inc->other_ref = REF_NONE;
	inc->other_group = process->group;
	return &inc->other_ref;
}

uint32_t fd_handle(struct replay *r, struct process *process, int64_t fd, struct open_file *inc)
{
	uint32_t *ref = handle_place(r, process, inc);
	struct model_handle def = {
		.file = inc->file,
		.paradigm = fd_paradigm(r, inc->file),
		.comm = REF_NONE,
		.parent = REF_NONE,
		.group = process->group,
		.precreated = true,
		.pre_mode = inc->mode,
		.pre_status_flags = inc->status_flags,
	};

	if (*ref != REF_NONE)
		return *ref;
	def.name = fd_name(r, fd, inc);
	if (def.file == REF_NONE)
		r->undescribed++;
	*ref = def.name ? handle_new(r, &def) : REF_NONE;
	return *ref;
}

/* ---- tables ---- */

int fd_inherit(struct fd_table *child, const struct fd_table *parent)
{
	for (size_t fd = 0; fd < parent->nfds; fd++) {
		const struct fd_slot *from = parent->fds[fd];
		struct open_file *inc;

		if (!from || !from->n || from->v[0].closed_ns != NEVER)
			continue;
		inc = fd_open(child, fd, 0);
		if (!inc)
			return -ENOMEM;
		*inc = from->v[0];
		inc->created_ns = 0;
		inc->ref = inc->aio_ref = inc->other_ref = REF_NONE;
		inc->has_epoch = inc->reserved = false;         /* a table's epochs are its own */
		inc->running = 0;
	}
	return 0;
}

int fd_exec(struct replay *r, struct thread *thread, uint64_t time_ns)
{
	struct fd_table *table = thread->table;
	int ret = 0;

	for (size_t fd = 0; fd < table->nfds && !ret; fd++) {
		struct fd_slot *slot = table->fds[fd];
		struct model_event event = { .type = EV_DESTROY };

		if (slot)
			slot->hint.valid = false;
		if (!slot || !slot->n || slot->v[0].closed_ns != NEVER ||
		    !(slot->v[0].status_flags & OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC))
			continue;
		slot->v[0].closed_ns = time_ns;
		event.u.destroy.handle = *handle_place(r, thread->process, &slot->v[0]);
		if (event.u.destroy.handle != REF_NONE)
			ret = call_event(r, thread, &event, time_ns);
	}
	return ret;
}
