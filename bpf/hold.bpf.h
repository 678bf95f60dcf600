/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The two places where a thread waits for the agent: a launched program until its probes are in place, and an unwinder until the
 * return addresses are back. It spins for a bounded time, in sleepable programs that the scheduler may interrupt.
 */
#ifndef IOPROBE_BPF_HOLD_H
#define IOPROBE_BPF_HOLD_H

#include "jumps.bpf.h"
#include "kernel_stack.bpf.h"
#include "wait.bpf.h"

/* The dynamic linker's rendezvous with debuggers: libraries have been mapped and none of their code has run. Used by kernels and
 * recordings that cannot hold the thread at a system call. */
SEC("uprobe.s")
int linker_rendezvous(struct pt_regs *ctx)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct wait_state state;
	u64 hold_limit_ns;
	struct process *p;

	stay_on_kernel_stack(ctx);
	if (!t || is_foreign_link(t, bpf_get_attach_cookie(ctx)))
		return 0;
	hold_limit_ns = recording_by(t->recording)->hold_limit_ns;
	if (!hold_limit_ns) {
		if (!syscalls_traced)
			report_mapped_code(t, 0, false);
		return 0;
	}
	p = process_of(t);
	if (p && !p->unprobed_code && syscalls_traced)
		return 0;
	if (p)
		p->unprobed_code = 0;
	state.stack = ctx->sp;
	if (!may_hold(t, bpf_get_current_task_btf()) || !hold_claim(t->recording, &state.id, hold_limit_ns)) {
		hold_failed(t);
		return 0;
	}
	if (!ask_for_probes(t, &state.id))
		hold_free(&state.id);
	if (!wait_for_agent(t->recording, &state))
		hold_failed(t);
	return 0;
}

/* Adds the frame at this index to the request in scratch if its slot currently holds the kernel's trampoline. */
__noinline int collect_return(struct thread *t, u32 index)
{
	struct iop_return_request *request;
	struct frame *f;
	u64 found = 0;
	u32 n;

	if (!t)
		return 0;
	request = (void *)t->scratch;
	f = frame_at(t, index);
	n = request->n;
	if (!f || !(f->flags & FRAME_HIJACKED) || n >= IOP_MAX_RETURNS)
		return 0;
	barrier_var(n);
	f->flags &= ~FRAME_HIJACKED;
	if (bpf_probe_read_user(&found, sizeof(found), (void *)f->sp) || !is_trampoline(t, (void *)bpf_get_current_task(), found))
		return 0;
	found = replaced_return(f->sp);
	if (!found)
		return 0;
	f->ret = found;
	request->slot[n].address = f->sp;
	request->slot[n].value = found;
	request->n = n + 1;
	return 0;
}

/* Newest frame first: of tail calls that share a slot the oldest has the real address and is written last. */
static __always_inline void collect_returns(struct thread *t)
{
	for (u32 i = 0; i < MAX_DEPTH && i < t->depth; i++)
		collect_return(t, t->depth - 1 - i);
}

static __always_inline bool ask_for_returns(struct thread *t, struct iop_return_request *request, struct wait_state *state)
{
	void *ring = ring_at(t->recording, ring_count + IOP_RING_RETURNS);

	if (!ring || !hold_claim(t->recording, &state->id, unwind_limit_ns))
		return false;
	request->id = state->id;
	if (!bpf_ringbuf_output(ring, request, sizeof(*request), BPF_RB_FORCE_WAKEUP))
		return true;
	hold_free(&state->id);
	return false;
}

/* An unwinder (C++ exception, pthread_cancel, pthread_exit) does not know the kernel's return trampoline: it would terminate the
 * program or skip clean-up handlers. So the agent first restores the return addresses on the stack. Frames that the unwinder leaves
 * are closed as abandoned at the next call; the return of a frame that lives on is not observed. */
static __always_inline void give_returns_back(struct thread *t, u64 sp)
{
	struct iop_return_request *request = (void *)t->scratch;
	struct wait_state state;

	if (returns_optional && stack_of(t, sp) == STACK_FOREIGN)
		return;         /* no return address on that stack was replaced */
	state.stack = sp;
	request->n = 0;
	collect_returns(t);
	if (!request->n)
		return;
	if (!ask_for_returns(t, request, &state) || !wait_for_agent(t->recording, &state))
		COUNT(t->recording, unwinds_late, 1);
}

/* Functions that leave frames without a return: see enum iop_unwind. */
SEC("uprobe.s")
int unwinder_entry(struct pt_regs *ctx)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	u64 cookie = bpf_get_attach_cookie(ctx), sp = ctx->sp + (cookie >> IOP_COOKIE_FRAME_SHIFT);
	u32 id = cookie & IOP_COOKIE_ROW;
	struct iop_desc *desc;

	stay_on_kernel_stack(ctx);
	if (!t || !t->depth || is_foreign_link(t, cookie))
		return 0;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	if (desc->unwind == IOP_UNWIND_JUMPS) {
		jump_over_frames(t, ctx->di);
		return 0;
	}
	frames_prune(t, sp, 0);
	if (desc->unwind == IOP_UNWIND_WALKS)
		give_returns_back(t, sp);
	return 0;
}

#endif
