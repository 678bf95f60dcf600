/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Recognises return addresses that a return probe has replaced.
 */
#ifndef IOPROBE_BPF_RETURNS_H
#define IOPROBE_BPF_RETURNS_H

#include "state.bpf.h"
#include "trampolines.bpf.h"

/* Returns whether a return address is the kernel's trampoline, which a return probe puts in place of the original one. */
static __always_inline bool is_trampoline(struct thread *t, struct task_struct *task, u64 ra)
{
	if (t->trampoline && ra == t->trampoline)
		return true;
	if (!(ra & ~4095ull) || trampoline_page(task) != (ra & ~4095ull))
		return false;
	t->trampoline = ra;
	return true;
}

#endif
