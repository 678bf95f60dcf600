/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Shared by libaio and io_uring: records of operations that one call submits to the kernel and that complete later.
 */
#ifndef IOPROBE_BPF_ASYNC_H
#define IOPROBE_BPF_ASYNC_H

#include "calls.bpf.h"


/* Sends the ENTER of the innermost open call. To be called before a record is sent from inside that call, which must follow it. */
static __always_inline void announce_call(struct thread *t, u64 now)
{
	u32 depth = t->depth;
	struct frame *top = frame_at(t, depth - 1);

	if (depth && top && (top->flags & FRAME_LEFT_OUT))      /* a system call: there is one at most */
		top = frame_at(t, --depth - 1);
	if (depth && top && !(top->flags & FRAME_ENTERED))
		send_enter(t, top, depth - 1, false, now);
}

/* Prepares the record of a submission in the thread's scratch: its members must be set before any other record is built there. */
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

const volatile __u32 async_layer = 0;     /* layer whose counts include filtered operations */

/* An operation on a file that the filter excludes is recorded all the same, so that its completion can be matched, but it is
 * marked, and counted here. */
static __always_inline void leave_out(struct thread *t, struct iop_rec_async *rec)
{
	struct iop_excluded *counts = excluded_counts(slot_of(t), async_layer, IOP_FILTER_FILE);

	rec->flags |= IOP_ASYNC_LEFT_OUT;
	if (!counts)
		return;
	__sync_fetch_and_add(&counts->calls, 1);
	if (rec->op == IOP_ASYNC_READ || rec->op == IOP_ASYNC_WRITE)
		__sync_fetch_and_add(&counts->unknown, 1);
}

/* Describes the descriptor; returns true if the filter by file excludes it. */
static __always_inline bool descriptor_excluded(struct thread *t, s32 fd)
{
	if (filter_files && (fd_state(t, fd) & FD_LEFT_OUT))
		return true;
	describe_if_unknown(t, fd);
	return false;
}

static __always_inline void send_async(struct thread *t, struct iop_rec_async *rec)
{
	rec_header(&rec->rec, t, IOP_REC_ASYNC, 0, sizeof(*rec), rec->rec.time_ns);
	send_record(t, rec, sizeof(*rec), false);
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
	send_record(t, rec, sizeof(*rec), false);
}

#endif
