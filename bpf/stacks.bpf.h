/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which stack a call runs on. The kernel keeps the replaced return addresses of a thread in one list and takes the newest for the
 * next return, which is correct on one stack only. A program that switches stacks inside probed calls (coroutines: ucontext,
 * Boost.Context, Argobots) would continue at another call's return address. So return probes are taken only on the thread's own
 * stack, its home, and on its signal stack; a call on any other stack is recorded at its entry only.
 */
#ifndef IOPROBE_BPF_STACKS_H
#define IOPROBE_BPF_STACKS_H

#include "state.bpf.h"

/* Without a limit on the stack size, memory is mapped from low addresses up, many terabytes away from the stack; this much below
 * the stack counts as stack. */
#define MAX_MAIN_STACK (1ull << 40)
#define CLONE3_NR 435

static __always_inline bool at_home(struct thread *t, u64 sp)
{
	return sp - t->home_low < t->home_size;
}

static __always_inline bool on_altstack(struct task_struct *task, u64 sp)
{
	u64 base = BPF_CORE_READ(task, sas_ss_sp), size = BPF_CORE_READ(task, sas_ss_size);

	return size && sp >= base && sp < base + size;
}

/* ---- the home stack ---- */

static __always_inline void set_home(struct thread *t, u64 low, u64 high)
{
	t->home_low = low;
	t->home_size = high > low ? high - low : 0;
}

/* The kernel maps nothing between mmap_base and the main thread's stack, which may grow down to there. */
static __always_inline void find_main_stack(struct thread *t, struct task_struct *task)
{
	u64 high = BPF_CORE_READ(task, mm, start_stack), low = BPF_CORE_READ(task, mm, mmap_base);

	set_home(t, low < high && high - low < MAX_MAIN_STACK ? low : high - MAX_MAIN_STACK, high);
}

struct area { u64 low, high; };

static long stack_area(struct task_struct *task, struct vm_area_struct *vma, void *data)
{
	struct area *area = data;

	bpf_probe_read_kernel(&area->low, sizeof(area->low), &vma->vm_start);
	bpf_probe_read_kernel(&area->high, sizeof(area->high), &vma->vm_end);
	return 0;
}

/* The C libraries put a thread's control block, to which its fs register points, at the top of its stack, and a guard page below
 * the stack. */
static __always_inline void find_thread_stack(struct thread *t, struct task_struct *task, u64 sp)
{
	u64 block = BPF_CORE_READ(task, thread.fsbase);
	struct area area = { 0 };

	if (sp < block && !bpf_find_vma(task, block - 1, stack_area, &area, 0) && area.low <= sp)
		set_home(t, area.low, block);
}

/* A new thread whose stack is an argument of clone3. */
static __always_inline void home_of_new_thread(struct thread *child, struct task_struct *parent)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(parent);
	struct { u64 base, size; } stack = { 0 };

	if (regs->orig_ax == CLONE3_NR && !bpf_probe_read_user(&stack, sizeof(stack), (void *)(regs->di + 40)))
		set_home(child, stack.base, stack.base + stack.size);
}

/* ---- which calls may have a return probe ---- */

enum stack_kind { STACK_FOREIGN, STACK_SIGNAL, STACK_HOME };

/* For a stack pointer that is not known to be on the home stack. */
__noinline int stack_elsewhere(struct thread *t, u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!t)
		return STACK_FOREIGN;
	if (!t->home_size && task->pid == task->tgid)
		find_main_stack(t, task);
	else if (!t->home_size)
		find_thread_stack(t, task, sp);
	if (at_home(t, sp))
		return STACK_HOME;
	return on_altstack(task, sp) ? STACK_SIGNAL : STACK_FOREIGN;
}

static __always_inline enum stack_kind stack_of(struct thread *t, u64 sp)
{
	return at_home(t, sp) ? STACK_HOME : stack_elsewhere(t, sp);
}

static __always_inline bool is_entry_only(struct thread *t)
{
	struct iop_recording *recording = recording_by(t->recording);
	struct iop_process_key key;

	if (recording->all_entry_only || !recording->any_entry_only)
		return recording->all_entry_only;
	key = process_key(t);
	return bpf_map_lookup_elem(&entry_only, &key);
}

/* Returns whether a frame's replaced return address is not below this stack pointer: the kernel would discard it. */
__noinline bool frame_would_be_lost(struct thread *t, u64 sp)
{
	for (u32 i = 0; i < MAX_DEPTH && t; i++) {
		if (i >= t->depth)
			break;
		if ((t->frames[i].flags & FRAME_HIJACKED) && t->frames[i].sp <= sp)
			return true;
	}
	return false;
}

/* Returns whether a call with this stack pointer may have a return probe: never in an entry-only process, always where a program
 * cannot decline one (!returns_optional). */
static __always_inline bool return_is_observed(struct thread *t, u64 sp)
{
	enum stack_kind stack;

	if (is_entry_only(t))
		return false;
	if (!returns_optional || at_home(t, sp))
		return true;
	stack = stack_elsewhere(t, sp);
	return stack == STACK_HOME || (stack == STACK_SIGNAL && !frame_would_be_lost(t, sp));
}

#endif
