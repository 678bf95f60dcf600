/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * With --cpu-time: how long a thread was off its CPU during an outermost call, and before it since the previous one. The time is
 * measured where the scheduler switches threads, because the kernel's own counters of a running thread are as old as its last clock
 * tick. They show what kind of time it was: run delay, user and system time, voluntary and involuntary switches.
 */
#ifndef IOPROBE_BPF_CPU_TIME_H
#define IOPROBE_BPF_CPU_TIME_H

#include "emit.bpf.h"

const volatile bool cpu_time = false;

/* Switches of the thread that were not observed: those before the recording, and those for which the kernel skipped the program. */
static __always_inline u64 switches_unseen(struct thread *t, struct task_struct *task)
{
	return task->nvcsw + task->nivcsw - t->cpu.switches;
}

static __always_inline u64 run_delay_ns(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

__noinline int cpu_call_begins(struct thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_use *c;

	if (!t)
		return 0;
	c = &t->cpu;
	c->begin_off_ns = c->off_ns;
	c->begin_io_ns = c->io_ns;
	c->begin_delay_ns = run_delay_ns(task);
	c->begin_user_ns = task->utime;
	c->begin_system_ns = task->stime;
	c->begin_voluntary = task->nvcsw;
	c->begin_unseen = switches_unseen(t, task);
	return 0;
}

/* The time before the next call is unknown: the end of this one is not recorded. */
static __always_inline void cpu_call_abandoned(struct thread *t)
{
	t->cpu.ended = 0;
}

/* Sends nothing for a call that was on its CPU all the time, as most calls are: the reader knows it from the missing record. The
 * record is built in the thread's scratch memory, so it precedes the call's own. */
__noinline int cpu_call_ends(struct thread *t, u64 enter_ns, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct iop_rec_cpu *rec;
	struct cpu_use *c;
	u64 unseen;

	if (!t)
		return 0;
	c = &t->cpu;
	rec = (void *)t->scratch;
	unseen = switches_unseen(t, task);
	rec->enter_ns = enter_ns;
	rec->off_ns = c->off_ns - c->begin_off_ns;
	rec->delay_ns = run_delay_ns(task) - c->begin_delay_ns;
	rec->io_ns = c->io_ns - c->begin_io_ns;
	rec->user_ns = task->utime - c->begin_user_ns;
	rec->system_ns = task->stime - c->begin_system_ns;
	rec->voluntary = task->nvcsw - c->begin_voluntary;
	rec->before_off_ns = c->begin_off_ns - c->end_off_ns;
	rec->before_delay_ns = c->begin_delay_ns - c->end_delay_ns;
	rec->flags = unseen != c->begin_unseen ? IOP_CPU_UNKNOWN : 0;
	if (!c->ended || c->begin_unseen != c->end_unseen)
		rec->flags |= IOP_CPU_BEFORE_UNKNOWN;
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		rec->flags |= IOP_CPU_NO_DELAY;
	c->end_off_ns = c->off_ns;
	c->end_delay_ns = c->begin_delay_ns + rec->delay_ns;
	c->end_unseen = unseen;
	c->ended = 1;
	if (!rec->off_ns && !rec->before_off_ns && !rec->user_ns && !rec->system_ns && !rec->flags)
		return 0;
	rec_header(&rec->rec, t, IOP_REC_CPU, 0, sizeof(*rec), now);
	send_record(t, rec, sizeof(*rec), false);
	return 0;
}

static __always_inline void cpu_leave(struct thread *t, struct task_struct *task, u64 now)
{
	t->cpu.since_ns = now;
	t->cpu.sleeps_for_io = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
	t->cpu.switches++;
}

static __always_inline void cpu_return(struct thread *t, u64 now)
{
	u64 off_ns = now - t->cpu.since_ns;

	if (!t->cpu.since_ns)
		return;
	t->cpu.off_ns += off_ns;
	t->cpu.io_ns += t->cpu.sleeps_for_io ? off_ns : 0;
	t->cpu.since_ns = 0;
}

#endif
