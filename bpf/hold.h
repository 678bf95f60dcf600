/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The two places where a thread waits for the agent: a launched program until its probes are in place, and an unwinder until the
 * return addresses are back. It spins for a bounded time, in sleepable programs that the scheduler may interrupt.
 */
#ifndef IOPROBE_BPF_HOLD_H
#define IOPROBE_BPF_HOLD_H

#include "calls.h"
#include <ioprobe/request.h>

#define STEPS_PER_BREATH 64
struct hold_state { u64 deadline, key, stack; };

static long hold_step(u32 index, void *data)
{
	struct hold_state *state = data;
	u32 *done = bpf_map_lookup_elem(&holds, &state->key);
	u8 byte;

	/* Reading through the page tables of a task is a point at which the scheduler may act, on kernels too that are not
	 * preempted: the agent may be waiting for this very CPU. */
	if (index % STEPS_PER_BREATH == 0)
		bpf_copy_from_user_task(&byte, 1, (void *)state->stack, bpf_get_current_task_btf(), 0);
	return !done || *done || bpf_ktime_get_ns() > state->deadline;
}

/* Returns whether the agent answered in time. */
static __always_inline bool wait_for_agent(struct hold_state *state, u64 stack)
{
	bool answered;
	u32 *done;

	state->stack = stack;
	for (int i = 0; i < 64; i++)    /* a round takes some 50 ms of processor time */
		if (bpf_loop(1 << 20, hold_step, state, 0) < 1 << 20)
			break;
	done = bpf_map_lookup_elem(&holds, &state->key);
	answered = done && *done;
	bpf_map_delete_elem(&holds, &state->key);
	return answered;
}

static __always_inline bool ask_agent(struct thread *t, enum iop_request_ring which, struct iop_request *request,
				      struct hold_state *state, u64 limit_ns)
{
	void *ring = ring_at(t->recording, ring_count + which);
	u32 waiting = 0;

	state->key = bpf_get_current_pid_tgid();
	state->deadline = bpf_ktime_get_ns() + limit_ns;
	request->pid_tgid = state->key;
	return ring && !bpf_map_update_elem(&holds, &state->key, &waiting, BPF_ANY) &&
	       !bpf_ringbuf_output(ring, request, sizeof(*request), BPF_RB_FORCE_WAKEUP);
}

/* Where system calls are not traced this is what tells of mapped code. */
static __always_inline void code_mapped_by_linker(struct thread *t)
{
	struct iop_rec_map *rec = (void *)t->scratch;

	rec->addr = 0;
	rec_header(&rec->rec, t, IOP_REC_MAP_EXEC, 0, sizeof(*rec), bpf_ktime_get_ns());
	send(t, rec, sizeof(*rec), true);
}

/* The dynamic linker's rendezvous with debuggers: libraries have been mapped and none of their code has run. */
SEC("uprobe.s")
int linker_rendezvous(struct pt_regs *ctx)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct iop_request *request;
	struct hold_state state;
	u64 hold_limit_ns;
	struct process *p;

	if (!t || is_foreign_link(t, bpf_get_attach_cookie(ctx)))
		return 0;
	hold_limit_ns = recording_by(t->recording)->hold_limit_ns;
	if (!hold_limit_ns) {
		if (!syscalls_traced)
			code_mapped_by_linker(t);
		return 0;
	}
	p = process_of(t);
	if (p && !p->unprobed_code && syscalls_traced)
		return 0;
	if (p)
		p->unprobed_code = 0;
	request = (void *)t->scratch;
	request->n = 0;
	if (ask_agent(t, IOP_RING_PROBES, request, &state, hold_limit_ns) && !wait_for_agent(&state, ctx->sp))
		COUNT(t->recording, holds_late, 1);
	return 0;
}

#define MAX_RETURN_INSTANCES 64 /* the kernel's own limit of nested return probes */

/* Of one of the kernel's return instances: the address that it replaced, if it did in the slot at sp; else 0, and the next one's
 * address in *next. */
struct return_walk { u64 next; };
__noinline u64 return_at(struct return_walk *walk, u64 sp)
{
	struct return_instance *ri;

	if (!walk)
		return 0;
	ri = (void *)walk->next;
	if (BPF_CORE_READ(ri, stack) == sp)
		return BPF_CORE_READ(ri, orig_ret_vaddr);
	walk->next = (u64)BPF_CORE_READ(ri, next);
	return 0;
}

/* The return address that a return probe replaced in the slot at sp: the kernel keeps it. 0 if it has none. */
__noinline u64 replaced_return(u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_walk walk = { (u64)BPF_CORE_READ(task, utask, return_instances) };
	u64 found = 0;

	for (int i = 0; i < MAX_RETURN_INSTANCES && walk.next && !found; i++)
		found = return_at(&walk, sp);
	return found;
}

/* Adds the frame at this index to the request in scratch if its slot holds the kernel's trampoline now. */
__noinline int collect_return(struct thread *t, u32 index)
{
	struct iop_request *request;
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
	asm volatile("" : "+r"(n));
	f->flags &= ~FRAME_HIJACKED;
	if (bpf_probe_read_user(&found, sizeof(found), (void *)f->sp) || !is_trampoline((void *)bpf_get_current_task(), found))
		return 0;
	found = replaced_return(f->sp);
	if (!found)
		return 0;
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

/* An unwinder (C++ exception, pthread_cancel, pthread_exit) knows nothing of the kernel's return trampoline: it would end the
 * program, or skip clean-up handlers. So the agent gives it the stack as the program made it. Frames that are left so are closed
 * as abandoned at the next call; a frame that lives on returns unseen. */
SEC("uprobe.s")
int unwinder_entry(struct pt_regs *ctx)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct iop_request *request;
	struct hold_state state;

	if (!t || !t->depth || is_foreign_link(t, bpf_get_attach_cookie(ctx)))
		return 0;
	prune(t, ctx->sp, 0);
	request = (void *)t->scratch;
	request->n = 0;
	collect_returns(t);
	if (!request->n)
		return 0;
	COUNT(t->recording, unwinds, 1);
	if (!ask_agent(t, IOP_RING_RETURNS, request, &state, unwind_limit_ns) || !wait_for_agent(&state, ctx->sp))
		COUNT(t->recording, unwinds_late, 1);
	return 0;
}

#endif
