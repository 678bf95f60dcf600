/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * File locks: flock(2) and the record locks of fcntl(2) (used by lockf(3)). An unlock does not contain the kind of the lock that it
 * releases, so the locks that a process acquired are kept here.
 */
#include "replay/fd/locks.h"
#include "replay/events.h"
#include "replay/fd/fd_epochs.h"
#include "replay/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <sys/file.h>

#define TO_THE_END UINT64_MAX

bool lock_command(int64_t cmd)
{
	return cmd == F_GETLK || cmd == F_SETLK || cmd == F_SETLKW || cmd == F_OFD_GETLK || cmd == F_OFD_SETLK ||
	       cmd == F_OFD_SETLKW;
}

static int lock_event(struct replay *r, struct thread *thread, const struct frame *f, enum model_event_type type,
		      const struct held_lock *lock)
{
	struct model_event event = { .type = type, .u.lock = { .handle = lock->handle, .kind = lock->kind } };

	event.u.lock.ranged = lock->space != LOCK_OF_FILE && lock->last >= lock->first;
	event.u.lock.offset = lock->first;
	event.u.lock.bytes = lock->last == TO_THE_END ? 0 : lock->last - lock->first + 1;
	return call_event(r, thread, &event, f->leave_ns);
}

/* ---- held locks ---- */

static int locks_add(struct process *process, const struct held_lock *lock)
{
	struct held_lock *held = malloc(sizeof(*held));

	if (!held)
		return -ENOMEM;
	*held = *lock;
	held->next = process->locks;
	process->locks = held;
	return 0;
}

static void remove_at(struct held_lock **at)
{
	struct held_lock *gone = *at;

	*at = gone->next;
	free(gone);
}

/* Returns whether both belong to one owner on one file and overlap. flock(2) locks belong to the open file description behind a
 * handle. */
static bool locks_meet(const struct held_lock *a, const struct held_lock *b)
{
	if (a->space != b->space || a->file != b->file || a->first > a->last || b->first > b->last)
		return false;   /* an unknown range overlaps none */
	return a->space == LOCK_OF_FILE ? a->handle == b->handle : a->first <= b->last && b->first <= a->last;
}

/* Removes this range from all held locks; the parts before and behind it stay held. Sets the bits of the kinds that were
 * removed. */
static int locks_carve(struct process *process, const struct held_lock *range, unsigned *kinds)
{
	for (struct held_lock **at = &process->locks; *at;) {
		struct held_lock *held = *at, rest = *held;

		if (!locks_meet(held, range)) {
			at = &held->next;
			continue;
		}
		*kinds |= 1u << held->kind;
		if (held->first < range->first && held->last > range->last) {
			rest.first = range->last + 1;
			held->last = range->first - 1;
			return locks_add(process, &rest);     /* held ranges do not overlap: there is no other */
		}
		if (held->first < range->first) {
			held->last = range->first - 1;
			at = &held->next;
		} else if (held->last > range->last) {
			held->first = range->last + 1;
			at = &held->next;
		} else {
			remove_at(at);
		}
	}
	return 0;
}

void locks_closed(struct process *process, uint32_t file)
{
	for (struct held_lock **at = &process->locks; *at;)
		if ((*at)->space == LOCK_OF_PROCESS && (*at)->file == file)
			remove_at(at);
		else
			at = &(*at)->next;
}

void locks_free(struct process *process)
{
	while (process->locks)
		remove_at(&process->locks);
}

/* ---- lock and unlock ---- */

static int locks_acquire(struct replay *r, struct thread *thread, const struct frame *f, const struct held_lock *lock)
{
	unsigned replaced = 0;
	int ret = locks_carve(thread->process, lock, &replaced);      /* a new lock replaces one of another kind */

	if (!ret)
		ret = locks_add(thread->process, lock);
	return ret ? ret : lock_event(r, thread, f, EV_LOCK, lock);
}

static bool is_unknown_range(const struct held_lock *lock)
{
	return lock->first > lock->last;
}

/* A range that begins at the descriptor's position (lockf): its kind is known if the process holds only one kind of lock on the
 * file. Returns it and removes one such lock. */
static unsigned kind_without_range(struct process *process, const struct held_lock *range)
{
	struct held_lock **same = NULL;
	unsigned kinds = 0;

	for (struct held_lock **at = &process->locks; *at; at = &(*at)->next) {
		if ((*at)->space != range->space || (*at)->file != range->file)
			continue;
		kinds |= 1u << (*at)->kind;
		if (is_unknown_range(*at))
			same = at;
	}
	if (same)
		remove_at(same);
	return kinds & (kinds - 1) ? 0 : kinds;
}

/* Writes one event for each kind of lock that is released. */
static int locks_release(struct replay *r, struct thread *thread, const struct frame *f, struct held_lock *range)
{
	unsigned kinds = 0;
	int ret = 0;

	if (is_unknown_range(range))
		kinds = kind_without_range(thread->process, range);
	else
		ret = locks_carve(thread->process, range, &kinds);
	r->unknown_unlocks += !kinds;
	for (range->kind = 0; range->kind <= OTF2_LOCK_SHARED && !ret; range->kind++)
		if (kinds & 1u << range->kind)
			ret = lock_event(r, thread, f, EV_UNLOCK, range);
	return ret;
}

/* A lock may be released through an inherited or duplicated handle of the same open file description. */
static void find_other_handle(const struct process *process, struct held_lock *range)
{
	const struct held_lock *other = NULL;

	for (const struct held_lock *held = process->locks; held; held = held->next) {
		if (held->space != LOCK_OF_FILE || held->file != range->file)
			continue;
		if (held->handle == range->handle)
			return;
		other = held;
	}
	if (other)
		range->handle = other->handle;
}

int op_flock(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct held_lock lock = { .space = LOCK_OF_FILE, .last = TO_THE_END };
	struct fd_use use;
	int64_t cmd;
	int ret;

	if (!frame_arg(r, f, ROLE_CMD, &cmd) || (f->failed && !(cmd & LOCK_NB && f->ret == -EWOULDBLOCK)))
		return 0;
	ret = fd_use(r, thread, f, ROLE_HANDLE, &use);
	if (ret || !use.inc)
		return ret;
	lock.handle = use.handle;
	lock.file = use.inc->file;
	lock.kind = cmd & LOCK_SH ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE;
	if (f->failed)
		return lock_event(r, thread, f, EV_TRYLOCK, &lock);
	if (!(cmd & LOCK_UN))
		return locks_acquire(r, thread, f, &lock);
	find_other_handle(thread->process, &lock);
	return locks_release(r, thread, f, &lock);
}

/* Computes the byte range of a struct flock (fcntl(2)). */
static void range_of(int64_t start, int64_t len, struct held_lock *lock)
{
	if (start < 0 || (len < 0 && start + len < 0) || (len > 0 && start > INT64_MAX - (len - 1)))
		return;
	lock->first = len < 0 ? start + len : start;
	lock->last = (len < 0 ? (uint64_t)start : (uint64_t)start + len) - 1;
	if (!len)
		lock->last = TO_THE_END;
}

/* Returns 0 if an event is to be written, -ENODATA if it is unknown which one. */
static int record_lock_of(const struct replay *r, const struct frame *f, int64_t cmd, struct held_lock *lock, int16_t *type)
{
	int64_t word, start, len;

	if (!frame_arg(r, f, ROLE_LOCK, &word) || !frame_arg(r, f, ROLE_OFFSET, &start) || !frame_arg(r, f, ROLE_BYTES, &len))
		return -ENODATA;
	*type = word & 0xffff;
	lock->space = cmd == F_SETLK || cmd == F_SETLKW ? LOCK_OF_PROCESS : LOCK_OF_DESCRIPTION;
	lock->kind = *type == F_RDLCK ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE;
	lock->first = 1;        /* above last: an unknown range, which depends on the descriptor's position */
	if ((word >> 16 & 0xffff) == SEEK_SET)
		range_of(start, len, lock);
	return 0;
}

int op_record_lock(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct held_lock lock = { 0 };
	struct fd_use use;
	int64_t cmd = 0;
	int16_t type;
	int ret;

	frame_arg(r, f, ROLE_CMD, &cmd);
	if (cmd == F_GETLK || cmd == F_OFD_GETLK || (f->failed && f->ret != -EAGAIN && f->ret != -EACCES))
		return 0;       /* an inquiry, or failed for another reason than a conflicting lock */
	if (record_lock_of(r, f, cmd, &lock, &type)) {
		r->unknown_locks++;
		return 0;
	}
	ret = fd_use(r, thread, f, ROLE_HANDLE, &use);
	if (ret || !use.inc)
		return ret;
	lock.handle = use.handle;
	lock.file = use.inc->file;
	if (f->failed)
		return lock_event(r, thread, f, EV_TRYLOCK, &lock);
	return type == F_UNLCK ? locks_release(r, thread, f, &lock) : locks_acquire(r, thread, f, &lock);
}
