/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sends records: header, sequence number, choice of the ring by CPU, wake-up when the ring fills, count of records dropped by a
 * full ring.
 */
#ifndef IOPROBE_BPF_EMIT_H
#define IOPROBE_BPF_EMIT_H

#include "state.bpf.h"

#define WAKEUP_EVERY 32 /* records of a thread between checks of the ring's fill level */

static __always_inline void rec_header(struct iop_rec *rec, struct thread *t, u8 type, u8 flags, u32 len, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();  /* two loads; the helper for both would be a call */

	rec->len = len;
	rec->type = type;
	rec->flags = flags;
	rec->tid = task->pid;
	rec->tgid = task->tgid;
	rec->seq = ++t->seq;
	rec->time_ns = now;
}

static __always_inline u64 wakeup_flags(struct thread *t, void *ring)
{
	if (t->seq % WAKEUP_EVERY)
		return BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Returns a ring of the recording by its index among those of the slot. */
static __always_inline void *ring_at(u32 recording, u32 place)
{
	u32 index = (recording & IOP_RECORDING_SLOT) * (ring_count + IOP_REQUEST_RINGS) + place;

	return bpf_map_lookup_elem(&rings, &index);
}

static __always_inline void *ring_here(u32 recording)
{
	u32 cpu = bpf_get_smp_processor_id();

	/* avoids a division: most machines have a ring per CPU */
	return ring_at(recording, cpu < ring_count ? cpu : cpu % ring_count);
}

/* The sequence number advances even if the ring is full: the gap shows the reader where records are missing. */
static __always_inline void send_record(struct thread *t, void *rec, u32 len, bool urgent)
{
	void *ring = ring_here(t->recording);

	if (!ring || bpf_ringbuf_output(ring, rec, len, urgent ? BPF_RB_FORCE_WAKEUP : wakeup_flags(t, ring)))
		COUNT(t->recording, lost, 1);
}

/* The three bytes that records have for it, lowest first. */
static __always_inline void set_record_site(u8 *bytes, u32 site)
{
	bytes[0] = site;
	bytes[1] = site >> 8;
	bytes[2] = site >> 16;
}

#endif
