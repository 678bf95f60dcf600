/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Waiting for the hold server of a recording. A wait never begins without a fresh heartbeat of
 * the agent and ends 100 ms after the last one, or at its deadline. See DESIGN.md.
 */
#ifndef IOPROBE_BPF_WAIT_H
#define IOPROBE_BPF_WAIT_H

#include "calls.bpf.h"
#include "hold_entry.bpf.h"

#define HEARTBEAT_LIMIT_NS 100000000ll

static __always_inline bool is_fresh(const volatile u64 *beat_ns, u64 now)
{
	return (s64)(now - *beat_ns) < HEARTBEAT_LIMIT_NS;
}

static __always_inline bool agent_lives(u32 recording, u64 now)
{
	return is_fresh(&recording_by(recording)->server_beat_ns, now);
}

/* ---- a program whose probes are not yet in place ---- */

/* Task work: the kernel runs a callback before a thread returns to user space, in which the thread may wait. Linux 6.18 and 6.19
 * declare the kfunc with five arguments, 7.0 with four, and libbpf rejects a whole object for a declaration that differs, weak or
 * not. So the object is compiled in three forms: IOP_TASK_WORK is the number of arguments, or 0 for kernels without it. */
struct bpf_map { __u32 id; } __attribute__((preserve_access_index));
struct bpf_task_work { __u64 opaque; } __attribute__((aligned(8)));
typedef int (*task_work_callback)(struct bpf_map *map, void *key, void *value);
#if IOP_TASK_WORK == 5
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work, void *map,
					      task_work_callback callback, void *aux) __ksym;
#define schedule_task_work(task, work, map, callback) bpf_task_work_schedule_resume_impl(task, work, map, callback, 0)
#elif IOP_TASK_WORK == 4
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *work, void *map,
					 task_work_callback callback) __ksym;
#define schedule_task_work bpf_task_work_schedule_resume
#elif IOP_TASK_WORK != 0
#error "IOP_TASK_WORK is 5, 4 or 0"
#endif

/* Task work is refused for a map of which no descriptor is open. */
struct hold_work { struct bpf_task_work work; struct wait_state state; };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOP_MAX_HOLDS);
	__type(key, u32);
	__type(value, struct hold_work);
} hold_works SEC(".maps");

/* Asks the agent to inspect code that the process has mapped. not_held: from now on the code may run without its probes. */
static __always_inline void report_mapped_code(struct thread *t, u64 addr, bool not_held)
{
	struct iop_rec_map *rec = (void *)t->scratch;

	rec->addr = addr;
	rec_header(&rec->rec, t, IOP_REC_MAP_EXEC, not_held ? IOP_F_NOT_HELD : 0, sizeof(*rec), bpf_ktime_get_ns());
	send_record(t, rec, sizeof(*rec), true);
}

static __always_inline void hold_failed(struct thread *t)
{
	COUNT(t->recording, holds_late, 1);
	report_mapped_code(t, 0, true);
}

/* A thread that is traced by another tracer cannot be put to sleep, and one that spins would slow down the placement of its
 * probes. */
static __always_inline bool may_hold(struct thread *t, struct task_struct *task)
{
	return is_fresh(&recording_by(t->recording)->recorder_beat_ns, bpf_ktime_get_ns()) && !task->ptrace;
}

static __always_inline bool ask_for_probes(struct thread *t, const struct iop_hold_id *id)
{
	struct iop_probe_request request = { .id = *id, .since_ns = bpf_ktime_get_ns() };
	void *ring = ring_at(t->recording, ring_count + IOP_RING_PROBES);

	return ring && !bpf_ringbuf_output(ring, &request, sizeof(request), BPF_RB_FORCE_WAKEUP);
}

#if IOP_TASK_WORK
/* Marks the call that waits, which is at its entry. Whether the wait was in vain is not yet known: the server answers when the
 * thread is about to stop, and lets it go on later. */
static __always_inline void mark_waiting_call(struct thread *t)
{
	struct frame *f = t->depth ? frame_at(t, t->depth - 1) : 0;

	if (f && !(f->flags & FRAME_SYSCALL))
		f->flags |= FRAME_WAITED;
}

static int hold_before_return(struct bpf_map *map, void *key, void *value)
{
	struct hold_work *work = value;
	struct wait_state state = work->state;
	struct thread *t = thread_of(bpf_get_current_task_btf());

	if (!t) {
		hold_free(&state.id);   /* the recording has ended */
		return 0;
	}
	if (!wait_for_agent(t->recording, &state))
		hold_failed(t);
	if (state.id.reason == IOP_HOLD_DIRECT)
		mark_waiting_call(t);
	return 0;
}

/* The wait begins when the system call returns; the request to the agent is already sent. */
static __always_inline bool hold_begin(struct thread *t, struct task_struct *task, u64 stack, enum iop_hold_reason reason)
{
	struct hold_work *work;
	struct iop_hold_id id;

	if (!may_hold(t, task) || !hold_claim(t->recording, &id, recording_by(t->recording)->hold_limit_ns))
		return false;
	id.reason = reason;
	work = bpf_map_lookup_elem(&hold_works, &id.slot);
	if (work) {
		work->state.id = id;
		work->state.stack = stack;
	}
	if (!work || schedule_task_work(task, &work->work, &hold_works, hold_before_return)) {
		hold_free(&id);
		return false;
	}
	if (!ask_for_probes(t, &id))
		hold_free(&id); /* the callback finds it and reports */
	return true;
}
#else
static __always_inline bool hold_begin(struct thread *t, struct task_struct *task, u64 stack, enum iop_hold_reason reason)
{
	return false;
}
#endif

static __always_inline void hold_until_probed(struct thread *t, struct task_struct *task, u64 stack)
{
	struct process *p = process_of(t);

	if (p)
		p->unprobed_code = 0;
	if (!hold_begin(t, task, stack, IOP_HOLD_NEW_CODE))
		hold_failed(t);
}

#endif
