/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Constants that a library creates when it initialises (HDF5's predefined types): read and sent before the first call that may use
 * one.
 */
#ifndef IOPROBE_BPF_CONSTANTS_H
#define IOPROBE_BPF_CONSTANTS_H

#include "calls.bpf.h"

__noinline u64 constant_at(struct thread *t, struct iop_constants *wanted, u32 i)
{
	struct iop_rec_constants *rec = t ? (void *)t->scratch : 0;
	s64 value = 0;

	if (!rec || !wanted || i >= IOP_MAX_CONSTANTS)
		return 0;
	barrier_var(i);
	if (wanted->address[i] && bpf_probe_read_user(&value, sizeof(value), (void *)wanted->address[i]))
		value = 0;
	rec->value[i] = value;
	return value > 0;
}

/* Before the library has initialised none of them is positive: retry at the next call. */
__noinline int send_constants(struct thread *t, u64 now)
{
	struct iop_rec_constants *rec;
	struct iop_constants *wanted;
	struct iop_process_key key;
	u32 positive = 0, len;

	if (!t)
		return 0;
	barrier_var(t);
	rec = (void *)t->scratch;
	key = process_key(t);
	wanted = bpf_map_lookup_elem(&constants, &key);
	if (!wanted)
		return 0;
	rec->layer = wanted->layer;
	rec->n = wanted->n;
	for (u32 i = 0; i < IOP_MAX_CONSTANTS; i++) {
		if (i >= wanted->n)
			break;
		positive += constant_at(t, wanted, i);
	}
	if (!positive)
		return 0;
	len = sizeof(*rec) + 8 * (wanted->n & 127);
	if (bpf_map_delete_elem(&constants, &key))
		return 0;       /* another thread is sending them */
	rec_header(&rec->rec, t, IOP_REC_CONSTANTS, 0, len, now);
	send_record(t, rec, len, false);
	return 0;
}

#endif
