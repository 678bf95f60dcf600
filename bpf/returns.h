/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Return addresses that a return probe has replaced: the kernel keeps the original ones.
 */
#ifndef IOPROBE_BPF_RETURNS_H
#define IOPROBE_BPF_RETURNS_H

#include "state.h"

/* Returns whether a return address is the kernel's trampoline, which a return probe puts in place of the original one. */
static __always_inline bool is_trampoline(struct thread *t, struct task_struct *task, u64 ra)
{
	struct xol_area *area;

	if (t->trampoline && ra == t->trampoline)
		return true;
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	if (!area || (BPF_CORE_READ(area, vaddr) & ~4095ull) != (ra & ~4095ull))
		return false;
	t->trampoline = ra;
	return true;
}

#define MAX_RETURN_INSTANCES 64 /* the kernel's own limit of nested return probes */

/* For one of the kernel's return instances: returns the address that it replaced if its slot is at sp, else 0 and the next instance
 * in *next. */
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

/* Returns the return address that a return probe replaced in the slot at sp; 0 if it was not replaced. */
__noinline u64 replaced_return(u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_walk walk = { (u64)BPF_CORE_READ(task, utask, return_instances) };
	u64 found = 0;

	for (int i = 0; i < MAX_RETURN_INSTANCES && walk.next && !found; i++)
		found = return_at(&walk, sp);
	return found;
}

#endif
