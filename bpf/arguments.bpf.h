/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the captured arguments of a call from the registers or stack words in which they are passed.
 */
#ifndef IOPROBE_BPF_ARGUMENTS_H
#define IOPROBE_BPF_ARGUMENTS_H

#include "calls.bpf.h"

/* Stores one argument of a call in its frame. A global function, so that the verifier checks it once and not for every combination
 * of states. */
__noinline int set_argument(struct frame *f, u32 i, u32 kind, u64 raw, u32 offset)
{
	s32 small = 0;
	long bad = 0;

	if (!f || i >= IOP_MAX_ARGS)
		return 0;
	switch (kind) {
	case IOP_ARG_INT:
		f->args[i] = (s64)(s32)raw;
		return 0;
	case IOP_ARG_IN_INT:
		bad = bpf_probe_read_user(&small, sizeof(small), (void *)(raw + offset));
		f->args[i] = (s64)small;
		break;
	case IOP_ARG_IN_VALUE:
		bad = bpf_probe_read_user(&f->args[i], sizeof(f->args[i]), (void *)(raw + offset));
		break;
	case IOP_ARG_MSG:
		f->args[i] = message_bytes(raw);
		bad = f->args[i] == LENGTH_UNKNOWN;
		break;
	default:
		f->args[i] = raw;
	}
	if (bad)
		f->arg_failed |= 1 << i;
	return 0;
}

/* Most arguments are plain values: no function call for them. */
static __always_inline void fetch_argument(struct frame *f, u32 i, u32 kind, u64 raw, u32 offset)
{
	if (kind == IOP_ARG_IN_INT || kind == IOP_ARG_IN_VALUE || kind == IOP_ARG_MSG)
		set_argument(f, i, kind, raw, offset);
	else
		f->args[i] = kind == IOP_ARG_INT ? (u64)(s64)(s32)raw : raw;
}

#endif
