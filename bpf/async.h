/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What libaio and io_uring share: the records of an operation that one call hands to the kernel and that ends later.
 */
#ifndef IOPROBE_BPF_ASYNC_H
#define IOPROBE_BPF_ASYNC_H

#include "calls.h"


/* What goes on inside a call has the call's ENTER before it: to be done before the records below. */
static __always_inline void announce_call(struct thread *t, u64 now)
{
	u32 depth = t->depth;
	struct frame *top = frame_at(t, depth - 1);

	if (depth && top && (top->flags & FRAME_LEFT_OUT))      /* a system call: there is one at most */
		top = frame_at(t, --depth - 1);
	if (depth && top && !(top->flags & FRAME_ENTERED))
		send_enter(t, top, depth - 1, false, now);
}

/* The record of a begin, in the thread's scratch: its members are set before anything else is sent. */
static __always_inline struct iop_rec_async *async_begin(struct thread *t, u8 interface, u64 now)
{
	struct iop_rec_async *rec = (void *)t->scratch;

	rec->rec.time_ns = now;
	rec->interface = interface;
	rec->bytes = LENGTH_UNKNOWN;
	rec->offset = -1;
	rec->file = 0;
	rec->flags = 0;
	return rec;
}

const volatile __u32 async_layer = 0;     /* whose calls left-out operations are counted with */

/* An operation that the filter by file excludes is recorded all the same, so that its end finds it, but it is marked, and counted
 * here. */
static __always_inline void leave_out(struct thread *t, struct iop_rec_async *rec)
{
	struct iop_left_out *counts = left_out_counts(slot_of(t), async_layer, IOP_FILTER_FILE);

	rec->flags |= IOP_ASYNC_LEFT_OUT;
	if (!counts)
		return;
	__sync_fetch_and_add(&counts->calls, 1);
	if (rec->op == IOP_ASYNC_READ || rec->op == IOP_ASYNC_WRITE)
		__sync_fetch_and_add(&counts->unknown, 1);
}

/* Describes the descriptor, unless the filter by file excludes it: then true. */
static __always_inline bool descriptor_left_out(struct thread *t, s32 fd)
{
	if (filter_files && (fd_state(t, fd) & FD_LEFT_OUT))
		return true;
	describe_if_unknown(t, fd);
	return false;
}

static __always_inline void send_async(struct thread *t, struct iop_rec_async *rec)
{
	rec_header(&rec->rec, t, IOP_REC_ASYNC, 0, sizeof(*rec), rec->rec.time_ns);
	send(t, rec, sizeof(*rec), false);
}

static __always_inline struct iop_rec_async_end *async_end(struct thread *t, u8 interface, u64 now)
{
	struct iop_rec_async_end *rec = (void *)t->scratch;

	__builtin_memset(rec, 0, sizeof(*rec));
	rec->rec.time_ns = now;
	rec->interface = interface;
	return rec;
}

static __always_inline void send_async_end(struct thread *t, struct iop_rec_async_end *rec)
{
	rec_header(&rec->rec, t, IOP_REC_ASYNC_END, 0, sizeof(*rec), rec->rec.time_ns);
	send(t, rec, sizeof(*rec), false);
}

#endif
