/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The guard of calls that are in flight when their recording ends: restores return addresses for unwinders from the kernel's own
 * list, without any state of a recording, and finds the calls whose return address is still replaced. See DESIGN.md, "Calls in
 * flight".
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "hold_entry.bpf.h"
#include "kernel_stack.bpf.h"
#include "trampolines.bpf.h"

const volatile __u64 unwind_limit_ns = 2000000000;
__u32 serving;          /* set while the hold server reads requests */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 14);
} requests SEC(".maps");

static __always_inline bool agent_lives(u32 recording, u64 now)
{
	return *(volatile u32 *)&serving;
}

/* ---- the kernel's list ---- */

struct replaced_walk { u64 next, trampoline; };

/* Steps to the next instance. Returns whether this one's slot can hold the trampoline in place of *address: of tail calls
 * that share a slot only the oldest has replaced a real address. */
static __always_inline bool replaced_step(struct replaced_walk *walk, u64 *slot, u64 *address)
{
	struct return_instance *ri = (void *)walk->next;

	*slot = BPF_CORE_READ(ri, stack);
	*address = BPF_CORE_READ(ri, orig_ret_vaddr);
	walk->next = (u64)BPF_CORE_READ(ri, next);
	return *address && (*address & ~4095ull) != walk->trampoline;
}

static __always_inline void replaced_begin(struct replaced_walk *walk, struct task_struct *task)
{
	walk->next = (u64)BPF_CORE_READ(task, utask, return_instances);
	walk->trampoline = walk->next ? trampoline_page(task) : 0;
}

/* ---- unwinders ---- */

__noinline int guard_collect(struct iop_return_request *request, struct replaced_walk *walk)
{
	u64 slot, address, found = 0, n;

	if (!request || !walk || !replaced_step(walk, &slot, &address))
		return 0;
	n = request->n;
	if (n >= IOP_MAX_RETURNS || bpf_probe_read_user(&found, sizeof(found), (void *)slot) ||
	    (found & ~4095ull) != walk->trampoline)
		return 0;
	barrier_var(n);
	request->slot[n].address = slot;
	request->slot[n].value = address;
	request->n = n + 1;
	return 0;
}

/* In every process that has the probe, recorded or not: nearly all have no replaced return address. */
SEC("uprobe.s")
int guard_unwinder(struct pt_regs *ctx)
{
	struct iop_return_request *request;
	struct wait_state state = { .stack = ctx->sp };
	struct replaced_walk walk;

	stay_on_kernel_stack(ctx);
	replaced_begin(&walk, bpf_get_current_task_btf());
	if (!walk.trampoline)
		return 0;
	request = bpf_ringbuf_reserve(&requests, sizeof(*request), 0);
	if (!request)
		return 0;
	request->n = 0;
	for (int i = 0; i < MAX_RETURN_INSTANCES && walk.next; i++)
		guard_collect(request, &walk);
	if (!request->n || !hold_claim(0, &state.id, unwind_limit_ns)) {
		bpf_ringbuf_discard(request, 0);
		return 0;
	}
	request->id = state.id;
	bpf_ringbuf_submit(request, BPF_RB_FORCE_WAKEUP);
	wait_for_agent(0, &state);
	return 0;
}

/* ---- calls in flight ---- */

static __always_inline void guard_report(struct seq_file *seq, struct task_struct *task, struct replaced_walk *walk)
{
	struct iop_replaced_return found = { .trampoline = walk->trampoline };
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (!replaced_step(walk, &found.address, &found.value))
		return;
	found.pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	found.sp = regs->sp;
	bpf_seq_write(seq, &found, sizeof(found));
}

SEC("iter/task")
int guard_find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct replaced_walk walk;

	if (!task)
		return 0;
	replaced_begin(&walk, task);
	if (!walk.trampoline)
		return 0;
	for (int i = 0; i < MAX_RETURN_INSTANCES && walk.next; i++)
		guard_report(seq, task, &walk);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
