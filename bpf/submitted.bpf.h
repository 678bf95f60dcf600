/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls whose operations other threads of the process carry out (POSIX aio): their records are sent at the entry.
 */
#ifndef IOPROBE_BPF_SUBMITTED_H
#define IOPROBE_BPF_SUBMITTED_H

#include "requests.bpf.h"

__noinline int add_submitted(struct thread *t, const struct iop_request_desc *rd, u64 list, u32 i)
{
	struct iop_rec_requests *rec;
	struct iop_submitted *one;
	u64 block = 0;
	u32 n;

	if (!t || !rd || bpf_probe_read_user(&block, sizeof(block), (void *)(list + 8ull * i)) || !block)
		return 0;
	rec = (void *)t->scratch;
	n = rec->n;
	if (n >= REQUESTS_PER_RECORD)
		return 0;
	barrier_var(n);
	one = (void *)&rec->v[n];
	one->request = block;
	if (bpf_probe_read_user(&one->fd, sizeof(one->fd), (void *)(block + rd->block_fd)) ||
	    bpf_probe_read_user(&one->opcode, sizeof(one->opcode), (void *)(block + rd->block_opcode)) ||
	    bpf_probe_read_user(&one->bytes, sizeof(one->bytes), (void *)(block + rd->block_bytes)) ||
	    bpf_probe_read_user(&one->offset, sizeof(one->offset), (void *)(block + rd->block_offset)))
		return 0;
	rec->n = n + 1;
	return 0;
}

__noinline int add_submitted_chunk(struct thread *t, const struct iop_request_desc *rd, u64 list, u32 first, u32 count)
{
	for (u32 i = 0; i < CHUNK; i++) {
		if (first + i >= count)
			break;
		add_submitted(t, rd, list, first + i);
	}
	return 0;
}

__noinline int send_submitted(struct thread *t, struct frame *f, u32 id, u64 now)
{
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);
	s32 count;
	u64 list;

	if (!t || !f || !rd)
		return 0;
	list = arg_of(f, rd->requests);
	count = arg_of(f, rd->count);
	((struct iop_rec_requests *)t->scratch)->n = 0;
	for (u32 first = 0; first < REQUESTS_LOOKED_AT; first += CHUNK) {
		if ((s32)first >= count)
			break;
		add_submitted_chunk(t, rd, list, first, count);
		if (ends_record(first, count))
			send_requests(t, f, IOP_REC_SUBMITTED, 0, now);
	}
	send_requests(t, f, IOP_REC_SUBMITTED, count > REQUESTS_LOOKED_AT ? count - REQUESTS_LOOKED_AT : 0, now);
	return 0;
}

/* The records must come before those of the system calls that a helper thread makes for the operations, perhaps before the call
 * returns. */
__noinline int send_requests_begun(struct thread *t, struct frame *f, u32 id, u64 now)
{
	struct iop_desc *desc = bpf_map_lookup_elem(&descriptors, &id);

	if (!t || !f || !desc)
		return 0;
	send_enter(t, f, t->depth - 1, false, now);
	if (desc->requests & IOP_R_SUBMITS)
		send_submitted(t, f, id, now);
	return 0;
}

#endif
