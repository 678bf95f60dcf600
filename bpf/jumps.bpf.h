/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Frames that longjmp leaves: they are closed before the jump, from its target. Otherwise a later call that is deeper on the stack
 * and does not overwrite the slots of those frames would appear inside them.
 */
#ifndef IOPROBE_BPF_JUMPS_H
#define IOPROBE_BPF_JUMPS_H

#include "calls.bpf.h"
#include <ioprobe/jump.h>

static __always_inline bool is_jump_target(struct thread *t, struct task_struct *task, u64 sp)
{
	return !(sp & 7) && (stack_of(t, sp) == STACK_HOME || on_altstack(task, sp));
}

/* Returns the stack pointer in a jmp_buf: glibc's mangled one, or musl's plain one. 0 if neither lies on a stack of this thread:
 * the jump is to another stack (coroutines), which holds none of the frames. */
__noinline u64 jump_target(struct thread *t, u64 jmp_buf)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 word = 0, guard = 0;

	if (!t || bpf_probe_read_user(&word, sizeof(word), (void *)(jmp_buf + IOP_JUMP_SP_OFFSET)))
		return 0;
	if (is_jump_target(t, task, word))
		return word;
	if (bpf_probe_read_user(&guard, sizeof(guard), (void *)(BPF_CORE_READ(task, thread.fsbase) + IOP_JUMP_GUARD_OFFSET)))
		return 0;
	word = iop_jump_demangle(word, guard);
	return is_jump_target(t, task, word) ? word : 0;
}

__noinline bool frame_is_jumped_over(struct thread *t, u32 index, u64 target)
{
	bool alt = on_altstack(bpf_get_current_task_btf(), target);
	struct frame *f;

	if (!t)
		return false;
	f = frame_at(t, index);
	if (!f)
		return false;
	if (f->flags & FRAME_SYSCALL)
		return true;
	if (f->flags & FRAME_ALTSTACK)
		return !alt || f->sp < target;
	return !alt && f->sp < target;
}

/* The thread is in longjmp's first instructions. */
static __always_inline void jump_over_frames(struct thread *t, u64 jmp_buf)
{
	u64 target = jump_target(t, jmp_buf);
	u32 keep = t->depth;

	for (int i = 0; i < MAX_DEPTH && target; i++) {
		if (!keep || !frame_is_jumped_over(t, keep - 1, target))
			break;
		keep--;
	}
	if (keep < t->depth)
		abandon_to(t, keep, bpf_ktime_get_ns());
}

#endif
