/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Record locks: reads the struct flock of an fcntl whose command is a lock command. For other commands the same argument has
 * another meaning.
 */
#ifndef IOPROBE_BPF_LOCKS_H
#define IOPROBE_BPF_LOCKS_H

#include "state.bpf.h"

/* F_GETLK, F_SETLK, F_SETLKW and the F_OFD_ ones; x86-64's ABI. */
static __always_inline bool is_lock_command(u64 cmd)
{
	return (cmd >= 5 && cmd <= 7) || (cmd >= 36 && cmd <= 38);
}

/* On entry the arguments of this kind hold the pointer. */
__noinline int fetch_flock(struct frame *f, const struct iop_desc *desc)
{
	bool lock;

	if (!f || !desc)
		return 0;
	lock = is_lock_command((u32)f->args[1]);
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u64 value = 0;

		if (i >= desc->nargs)
			break;
		if (desc->arg[i].kind != IOP_ARG_FLOCK)
			continue;
		if (!lock || bpf_probe_read_user(&value, sizeof(value), (void *)(f->args[i] + desc->arg[i].offset)))
			f->arg_failed |= 1 << i;
		f->args[i] = value;
	}
	return 0;
}

#endif
