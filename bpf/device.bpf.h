/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * With --device: which system calls access block devices. The bytes requested from block devices are taken from the kernel's I/O
 * accounting of the task; the time slept for I/O is measured at the scheduler's switch tracepoint,
 * which --cpu-time uses as well.
 */
#ifndef IOPROBE_BPF_DEVICE_H
#define IOPROBE_BPF_DEVICE_H

#include "async.bpf.h"
#include "cpu_time.bpf.h"

const volatile bool device = false;

static __always_inline u64 device_read_bytes(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.read_bytes) ? BPF_CORE_READ(task, ioac.read_bytes) : 0;
}

static __always_inline void device_enter(struct thread *t, struct task_struct *task)
{
	t->device_bytes = device_read_bytes(task);
	t->slept_before_ns = t->slept_ns;
}

/* No record for a call that neither read from a device nor waited. */
static __always_inline void device_leave(struct thread *t, struct task_struct *task, u64 now)
{
	struct iop_rec_device *rec = (void *)t->scratch;
	u64 bytes = device_read_bytes(task) - t->device_bytes, slept_ns = t->slept_ns - t->slept_before_ns;

	if (!bytes && !slept_ns)
		return;
	announce_call(t, now);
	rec->read_bytes = bytes;
	rec->wait_ns = slept_ns;
	rec_header(&rec->rec, t, IOP_REC_DEVICE, 0, sizeof(*rec), now);
	send_record(t, rec, sizeof(*rec), false);
}

SEC("tp_btf/sched_switch")
int task_switch(u64 *ctx)
{
	struct task_struct *from = (void *)ctx[1], *to = (void *)ctx[2];
	struct thread *t = thread_of(from);

	if (t && cpu_time)
		cpu_leave(t, from, bpf_ktime_get_ns());
	if (t && BPF_CORE_READ_BITFIELD_PROBED(from, in_iowait))
		t->sleeps_since_ns = bpf_ktime_get_ns();
	t = thread_of(to);
	if (t && cpu_time)
		cpu_return(t, bpf_ktime_get_ns());
	if (t && t->sleeps_since_ns) {
		t->slept_ns += bpf_ktime_get_ns() - t->sleeps_since_ns;
		t->sleeps_since_ns = 0;
	}
	return 0;
}

#endif
