/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kernel's list of a thread's return addresses that return probes have replaced. Needs no state of a recording.
 */
#ifndef IOPROBE_BPF_TRAMPOLINES_H
#define IOPROBE_BPF_TRAMPOLINES_H

#include "kernel.h"

#define MAX_RETURN_INSTANCES 64 /* the kernel's own limit of nested return probes */

/* Returns the page of the trampoline of this task's process; 0: it has none. */
static __always_inline u64 trampoline_page(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) & ~4095ull : 0;
}

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
