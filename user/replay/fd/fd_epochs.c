/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls on a descriptor that another thread closes or replaces during the call (log rotation by dup2). Times cannot show on which
 * open file such a call was; the epochs that the BPF programs record for the call and for the change do. A handle is destroyed when
 * the last call running on it has ended, by that call.
 */
#include "replay/fd/fd_epochs.h"
#include "replay/fd/fds.h"
#include "replay/frame.h"
#include "replay/op_events.h"

#include <errno.h>

/* Returns the epoch record of this call on this descriptor, as a change or as a use. */
static const struct iop_rec_fd_epoch *epoch_of(const struct thread *thread, const struct frame *f, int64_t fd, bool change)
{
	for (unsigned i = 0; i < thread->epochs.n; i++) {
		const struct iop_rec_fd_epoch *e = &thread->epochs.v[i];

		if (e->enter_ns == f->enter_ns && e->fd == fd && !(e->flags & IOP_EPOCH_CHANGE) == !change)
			return e;
	}
	return NULL;
}

static struct open_file *fd_epochs_labelled(struct fd_slot *slot, uint32_t epoch)
{
	for (unsigned i = 0; i < slot->n; i++)
		if (slot->v[i].has_epoch && slot->v[i].epoch == epoch % IOP_EPOCHS)
			return &slot->v[i];
	return NULL;
}

static void fd_epochs_label(struct open_file *inc, uint32_t epoch)
{
	inc->has_epoch = true;
	inc->epoch = epoch % IOP_EPOCHS;
}

/* ---- calls that returned before a change that has counted them ---- */

static void early_add(struct fd_slot *slot, uint32_t epoch)
{
	struct fd_early *place = NULL;

	for (unsigned i = 0; i < FD_EARLY; i++) {
		struct fd_early *early = &slot->early[i];

		if (early->n ? early->epoch == epoch : !place || place->epoch != epoch)
			place = early;
	}
	if (!place)
		place = &slot->early[0];        /* its change was not recorded */
	place->n = place->epoch == epoch ? place->n + 1 : 1;
	place->epoch = epoch;
}

static uint32_t early_take(struct fd_slot *slot, uint32_t epoch)
{
	uint32_t n = 0;

	for (unsigned i = 0; slot && i < FD_EARLY; i++) {
		if (!slot->early[i].n || slot->early[i].epoch != epoch)
			continue;
		n = slot->early[i].n;
		slot->early[i].n = 0;
	}
	return n;
}

/* ---- which open file ---- */

static struct open_file *epoch_find(struct replay *r, struct thread *thread, const struct frame *f, int64_t fd)
{
	const struct iop_rec_fd_epoch *e = epoch_of(thread, f, fd, false);
	struct fd_slot *slot = e ? fd_slot(thread->table, fd) : NULL;
	bool next = e && e->flags & IOP_EPOCH_NEXT;
	struct open_file *inc;

	if (!slot)
		return NULL;
	fd_find(r, thread->process, thread->table, fd, f->enter_ns);    /* applies a pending description */
	inc = fd_epochs_labelled(slot, e->begun + next);
	if (inc || f->failed || !next)
		return inc;
	/* The call that creates it has not returned, unless there is a newer one. */
	if (slot->n > 1 && !slot->v[0].has_epoch &&
	    (slot->v[1].closed_ns == NEVER || fd_epochs_labelled(slot, e->begun) == &slot->v[1]))
		return &slot->v[0];
	inc = fd_push(slot, f->enter_ns);
	if (!inc)
		return NULL;
	inc->reserved = true;
	fd_epochs_label(inc, e->begun + 1);
	return inc;
}

int fd_use(struct replay *r, struct thread *thread, const struct frame *f, enum table_role role, struct fd_use *use)
{
	*use = (struct fd_use){ .fd = -1, .handle = REF_NONE };
	if (!frame_arg(r, f, role, &use->fd))
		return 0;
	use->fd = (int32_t)use->fd;
	use->inc = epoch_find(r, thread, f, use->fd);
	if (!use->inc)
		use->inc = fd_find(r, thread->process, thread->table, use->fd, f->enter_ns);
	if (!use->inc && (f->failed || use->fd < 0))
		return 0;
	if (!use->inc)
		use->inc = fd_undescribed(thread->table, use->fd, f->enter_ns);
	if (!use->inc)
		return -ENOMEM;
	use->handle = fd_handle(r, thread->process, use->fd, use->inc);
	return use->handle == REF_NONE ? -ENOMEM : 0;
}

bool fd_epoch_end(struct thread *thread, const struct frame *f, int64_t fd, struct open_file *inc)
{
	const struct iop_rec_fd_epoch *e = epoch_of(thread, f, fd, true);
	uint32_t early;

	if (!e)
		return false;
	fd_epochs_label(inc, e->begun);
	early = early_take(fd_slot(thread->table, fd), inc->epoch);
	inc->running = e->running > early ? e->running - early : 0;
	return inc->running;
}

struct open_file *fd_epoch_made(struct thread *thread, const struct frame *f, int64_t fd, bool *overlapped)
{
	const struct iop_rec_fd_epoch *e = epoch_of(thread, f, fd, true);
	struct fd_slot *slot = e ? fd_slot(thread->table, fd) : NULL;
	struct open_file *inc = slot ? fd_epochs_labelled(slot, e->epoch) : NULL;

	*overlapped = e;
	if (!inc || !inc->reserved)
		return NULL;
	inc->reserved = false;
	return inc;
}

void fd_epoch_begun(struct thread *thread, const struct frame *f, int64_t fd, struct open_file *inc)
{
	const struct iop_rec_fd_epoch *e = epoch_of(thread, f, fd, true);

	if (e)
		fd_epochs_label(inc, e->epoch);
}

/* A call during several changes was counted by each of them. */
static int fd_epochs_release(struct replay *r, struct thread *thread, const struct iop_rec_fd_epoch *e, const struct frame *f)
{
	struct fd_slot *slot = fd_slot(thread->table, e->fd);
	uint32_t changes = (e->epoch - e->begun) % IOP_EPOCHS;
	int ret = 0;

	for (unsigned i = 0; slot && i < slot->n && !ret; i++) {
		struct open_file *inc = &slot->v[i];

		if (!inc->has_epoch || !inc->running || (inc->epoch - e->begun) % IOP_EPOCHS >= changes || --inc->running)
			continue;
		if (inc->ref != REF_NONE)
			ret = op_destroy_event(r, thread, f, fd_handle(r, thread->process, e->fd, inc));
	}
	return ret;
}

/* The latest of these changes may have a later time than the call. */
static void release_early(struct thread *thread, const struct iop_rec_fd_epoch *e)
{
	struct fd_slot *slot = fd_slot(thread->table, e->fd);
	uint32_t changes = (e->epoch - e->begun) % IOP_EPOCHS;

	for (uint32_t i = 1; slot && i <= changes && i <= FD_EARLY; i++) {
		const struct open_file *inc = fd_epochs_labelled(slot, e->epoch - i);

		if (!inc || inc->closed_ns == NEVER)
			early_add(slot, (e->epoch - i) % IOP_EPOCHS);
	}
}

int fd_epoch_leave(struct replay *r, struct thread *thread, const struct frame *f)
{
	int ret = 0;

	for (unsigned i = 0; i < thread->epochs.n && !ret; i++) {
		const struct iop_rec_fd_epoch *e = &thread->epochs.v[i];

		if (e->flags & IOP_EPOCH_CHANGE || e->enter_ns != f->enter_ns)
			continue;
		r->overlapped++;
		release_early(thread, e);
		ret = fd_epochs_release(r, thread, e, f);
	}
	if (thread->epochs.n && thread->epochs.v[0].enter_ns == f->enter_ns)
		thread->epochs.n = 0;
	return ret;
}

/* A record of an earlier call is still there: that call was filtered. */
int fd_epoch_record(struct replay *r, struct thread *thread, const struct iop_rec_fd_epoch *rec)
{
	struct frame gone = { .leave_ns = rec->rec.time_ns };
	int ret = 0;

	if (thread->epochs.n && thread->epochs.v[0].enter_ns != rec->enter_ns) {
		gone.enter_ns = thread->epochs.v[0].enter_ns;
		ret = fd_epoch_leave(r, thread, &gone);
	}
	if (!ret && thread->epochs.n < FD_EPOCHS)
		thread->epochs.v[thread->epochs.n++] = *rec;
	return ret;
}
