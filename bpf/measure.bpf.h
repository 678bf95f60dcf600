/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Measures parts of a call's cost. The recorder's measuring process (user/capture/probe_costs.c) runs this BPF program itself:
 * recorded processes do not pay for it.
 */
#ifndef IOPROBE_BPF_MEASURE_H
#define IOPROBE_BPF_MEASURE_H

#include "call_site.bpf.h"
#include "calls.bpf.h"

/* Fills the arguments as a call's entry would: pointers point to zeros, the others are 1. */
__noinline int measured_arguments(struct frame *f, const struct iop_desc *desc, u64 memory)
{
	if (!f || !desc)
		return 0;
	f->nargs = desc->nargs;
	f->arg_failed = 0;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 kind = desc->arg[i].kind;

		f->args[i] = kind == IOP_ARG_VALUE || kind == IOP_ARG_INT ? 1 : memory;
		if (kind == IOP_ARG_IN_VALUE || kind == IOP_ARG_IN_INT)
			f->args[i] = 0;
	}
	return 0;
}

/* Sends the record with a depth, so that the recorder can tell it from timed calls, and no records of an outermost call come
 * with it. Output arguments hold the values read by the previous return: their pointers are restored first. A separate function:
 * the verifier checks it once. */
__noinline int send_measured(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 memory)
{
	if (!t || !f || !desc)
		return 0;
	if (desc->has & IOP_HAS_OUT)
		measured_arguments(f, desc, memory);
	send_return(t, f, desc, 1, 0, f->enter_ns);
	return 0;
}

static __always_inline int measured_records(struct thread *t, u32 id, u64 n, u64 memory)
{
	struct iop_desc *desc = bpf_map_lookup_elem(&descriptors, &id);
	struct frame *f = frame_at(t, 0);
	u64 begin;

	if (!desc || !f)
		return 0;
	measured_arguments(f, desc, memory);
	f->flags = 0;
	f->probe = id;
	f->enter_ns = begin = bpf_ktime_get_ns();
	for (u32 i = 0; i < IOP_MEASURE_MAX && i < n; i++)
		send_measured(t, f, desc, memory);
	return bpf_ktime_get_ns() - begin;
}

/* enum iop_measure. Returns 0 to every other process. */
SEC("raw_tp")
int measure_record(u64 *ctx)
{
	u64 operation = ctx[0], id = ctx[1], n = ctx[2], memory = ctx[3];
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct process *p;
	u32 image;

	if (!t || t->depth || bpf_get_current_pid_tgid() >> 32 != recording_by(t->recording)->measuring_tgid)
		return 0;
	if (operation == IOP_MEASURE_RECORDS)
		return measured_records(t, id, n, memory);
	if (operation == IOP_MEASURE_SITE_FOUND)
		return t->site && t->up.whole;
	p = process_of(t);
	if (!call_sites || !p)
		return 0;
	image = p->image;
	p->image = operation == IOP_MEASURE_SHOW_SITES ? id : 0;
	return image;
}

#endif
