/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Keeps programs on uprobes off the private stacks of Linux 6.13 and later.
 */
#ifndef IOPROBE_BPF_KERNEL_STACK_H
#define IOPROBE_BPF_KERNEL_STACK_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

const volatile bool tail_calls = false;         /* stays so */

/* Since Linux 6.13 the functions of a program on a uprobe that use 64 bytes of stack or more have a private stack per CPU
 * (bpf_enable_priv_stack in kernel/bpf/verifier.c). Programs on uprobes may be preempted, and nothing keeps a second thread from
 * running the same program on that CPU then: it overwrites the first one's variables, and the kernel ends in an oops (seen with
 * 7.3). A program that contains a tail call has no private stack. This one is in dead code: the verifier removes it.
 * To be called by every program with SEC("uprobe") or SEC("uprobe.s"). */
static __always_inline void stay_on_kernel_stack(void *ctx)
{
	if (tail_calls)
		bpf_tail_call(ctx, (void *)0, 0);
}

#endif
