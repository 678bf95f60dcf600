/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * With --collectives: collective calls of MPI outside of I/O calls, as far as they are next to one: the last before an outermost
 * call and the first after it. One in which a recorded call is made is always recorded. The others send nothing: the last one is
 * kept in the thread's state until the thread's next outermost call begins.
 */
#ifndef IOPROBE_BPF_COLLECTIVES_H
#define IOPROBE_BPF_COLLECTIVES_H

#include "emit.bpf.h"

const volatile bool collectives = false;

/* Called before an outermost call is pushed. */
__noinline int send_held_collective(struct thread *t)
{
	struct iop_rec_collective *rec;

	if (!t || !t->held.leave_ns)
		return 0;
	rec = (void *)t->scratch;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->enter_ns = t->held.enter_ns;
	rec->leave_ns = t->held.leave_ns;
	rec->ret = t->held.ret;
	rec->probe = t->held.probe;
	set_record_site(rec->site, t->held_site);
	t->held.leave_ns = 0;
	rec_header(&rec->rec, t, IOP_REC_COLLECTIVE, 0, sizeof(*rec), bpf_ktime_get_ns());
	send_record(t, rec, sizeof(*rec), false);
	return 0;
}

/* Returns whether the call is kept: it is not the first one after an outermost call, and nothing was recorded inside. */
static __always_inline bool hold_collective(struct thread *t, struct frame *f, s64 ret, u64 now)
{
	if (t->held.after_io || (f->flags & FRAME_ENTERED)) {
		t->held.after_io = 0;
		t->held.leave_ns = 0;
		return false;
	}
	t->held.enter_ns = f->enter_ns;
	t->held.leave_ns = now;
	t->held.ret = ret;
	t->held.probe = f->probe;
	t->held_site = t->site;
	return true;
}

#endif
