/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Decides which open file a call was on if another thread closes or replaces its descriptor during the call. Each descriptor of a
 * table with several threads has a word that holds the number of running calls, the number of calls that are closing or replacing
 * it, and an epoch: how often that was done. One atomic operation changes one part and reads the others, so a change knows how many
 * calls are running on the old file, and each of these finds a different epoch at its end. Only then are records sent
 * (IOP_REC_FD_EPOCH).
 *
 * The clock is read before the word. A virtual CPU may lose its processor in between, so that a call whose time is after the change
 * ends before it in the word. So calls on the old file that end while a change is under way are counted, too (ENDED), until a
 * change succeeds: the word knows all calls that may come after the change in the order of times.
 */
#ifndef IOPROBE_BPF_FD_EPOCHS_H
#define IOPROBE_BPF_FD_EPOCHS_H

#include "describe.bpf.h"
#include "fd_word.h"

#define EPOCH_SLOTS 65536               /* a power of two */
#define EPOCH_TRIES 4
#define EPOCH_FULL (~0u)

/* key: generation of the table's slot, the slot, the descriptor. file: the file behind the descriptor when the running change
 * began. overtaken: a call found the descriptor already changed. */
struct fd_epoch { u64 key, word, file, overtaken; };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EPOCH_SLOTS);
	__type(key, u32);
	__type(value, struct fd_epoch);
} fd_epochs SEC(".maps");

static __always_inline struct fd_epoch *fd_epoch_at(u32 index)
{
	return bpf_map_lookup_elem(&fd_epochs, &index);
}

static __always_inline u64 fd_epoch_key(u32 generation, u32 slot, u32 fd)
{
	return (u64)(generation & 0x3ffff) << 46 | (u64)(slot & 0x3fff) << 32 | fd;
}

/* Returns whether the table that the key names no longer exists. */
static __always_inline bool fd_epoch_is_free(u64 key)
{
	u32 slot = key >> 32 & 0x3fff;
	struct process *p = key ? bpf_map_lookup_elem(&processes, &slot) : 0;

	return !p || !p->owner || (p->generation & 0x3ffff) != key >> 46;
}

/* Threads may claim a word for one descriptor at the same time: it is cleared before they can find it, and the first one's claim is
 * all of theirs. Returns the key that the word has now. */
static __always_inline u64 fd_epoch_claim(struct fd_epoch *e, u64 was, u64 key)
{
	u64 word = e->word, found;

	if (word && __sync_val_compare_and_swap(&e->word, word, 0) != word)
		return 0;
	found = __sync_val_compare_and_swap(&e->key, was, key);
	return found == was ? key : found;
}

__noinline int fd_count_unordered(struct thread *t)
{
	if (t)
		COUNT(t->recording, fd_unordered, 1);
	return 0;
}

/* Returns 1 + the index of the descriptor's word, 0 if it needs none (its table has one thread), EPOCH_FULL if there is no room for
 * one. */
__noinline u32 fd_epoch_find(struct thread *t, s32 fd)
{
	struct process *p;
	u64 key;
	u32 at;

	if (!t || fd < 0)
		return 0;
	p = table_of(t);
	if (!p || !p->many_threads)
		return 0;
	key = fd_epoch_key(p->generation, t->table ? t->table : t->process, fd);
	at = (u32)(key * 0x9e3779b97f4a7c15ull >> 40);
	for (u32 i = 0; i < EPOCH_TRIES; i++) {
		u32 index = (at + i) & (EPOCH_SLOTS - 1);
		struct fd_epoch *e = fd_epoch_at(index);
		u64 was = e ? e->key : 0;

		if (!e)
			return 0;
		if (was != key && fd_epoch_is_free(was))
			was = fd_epoch_claim(e, was, key);
		if (was == key)
			return index + 1;
	}
	return EPOCH_FULL;
}

static __always_inline u32 fd_epoch_number(struct thread *t, s32 fd)
{
	u32 number = fd_epoch_find(t, fd);

	if (number != EPOCH_FULL)
		return number;
	fd_count_unordered(t);
	return 0;
}

__noinline int fd_call_begins(struct thread *t, u32 which, s32 fd)
{
	struct fd_call *call;
	struct fd_epoch *e;
	u64 was;

	if (!t)
		return 0;
	call = &t->fd_calls[which & 1];
	call->index = fd_epoch_number(t, fd);
	e = call->index ? fd_epoch_at(call->index - 1) : 0;
	if (!e)
		return 0;
	was = __sync_fetch_and_add(&e->word, 1);
	call->fd = fd;
	call->epoch = EPOCH(was);
	call->flags = 0;
	if (!CHANGING(was))
		return 0;
	call->flags = IOP_EPOCH_DURING;
	if ((u64)file_of(fd) != e->file) {
		call->flags |= IOP_EPOCH_NEXT;
		e->overtaken = 1;
	}
	return 0;
}

static __always_inline void send_epoch(struct thread *t, struct frame *f, struct iop_rec_fd_epoch *rec, u64 now)
{
	rec->enter_ns = f->enter_ns;
	rec_header(&rec->rec, t, IOP_REC_FD_EPOCH, 0, sizeof(*rec), now);
	send_record(t, rec, sizeof(*rec), false);
}

__noinline int fd_call_ends(struct thread *t, struct frame *f, u32 which, u64 now)
{
	struct iop_rec_fd_epoch *rec;
	struct fd_word_left left = { 0 };
	struct fd_call *call;
	struct fd_epoch *e;

	if (!t || !f)
		return 0;
	call = &t->fd_calls[which & 1];
	e = call->index ? fd_epoch_at(call->index - 1) : 0;
	call->index = 0;
	if (!e)
		return 0;
	fd_word_leave(&e->word, call->epoch + !!(call->flags & IOP_EPOCH_NEXT), &left);
	if (left.undecided)
		fd_count_unordered(t);
	if (EPOCH(left.was) == call->epoch && !CHANGING(left.was) && !call->flags)
		return 0;
	rec = (void *)t->scratch;
	rec->fd = call->fd;
	rec->flags = call->flags;
	rec->begun = call->epoch;
	rec->epoch = EPOCH(left.was + (left.counted ? EPOCH_ONE : 0));
	rec->running = 0;
	rec->pad = 0;
	send_epoch(t, f, rec, now);
	return 0;
}

__noinline int fd_change_begins(struct thread *t, s32 fd)
{
	struct fd_epoch *e;

	if (!t)
		return 0;
	t->fd_change.index = fd_epoch_number(t, fd);
	t->fd_change.fd = fd;
	e = t->fd_change.index ? fd_epoch_at(t->fd_change.index - 1) : 0;
	if (!e)
		return 0;
	e->file = (u64)file_of(fd);
	__sync_fetch_and_add(&e->word, CHANGING_ONE);
	return 0;
}

__noinline int fd_change_ends(struct thread *t, struct frame *f, bool changed, u64 now)
{
	struct iop_rec_fd_epoch *rec;
	struct fd_epoch *e;
	bool undecided = false;
	u64 was, overtaken;

	if (!t || !f)
		return 0;
	e = t->fd_change.index ? fd_epoch_at(t->fd_change.index - 1) : 0;
	t->fd_change.index = 0;
	if (!e)
		return 0;
	was = changed ? fd_word_advance(&e->word, &undecided) : __sync_fetch_and_add(&e->word, -CHANGING_ONE);
	if (undecided)
		fd_count_unordered(t);
	overtaken = __sync_lock_test_and_set(&e->overtaken, 0);
	if (!changed || (!RUNNING(was) && !ENDED(was) && !overtaken))
		return 0;
	rec = (void *)t->scratch;
	rec->fd = t->fd_change.fd;
	rec->flags = IOP_EPOCH_CHANGE;
	rec->begun = EPOCH(was);
	rec->epoch = EPOCH(was + EPOCH_ONE);
	rec->running = RUNNING(was) + ENDED(was);
	rec->pad = 0;
	send_epoch(t, f, rec, now);
	return 0;
}

#endif
