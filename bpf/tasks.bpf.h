/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Threads and processes: fork, exec and exit.
 */
#ifndef IOPROBE_BPF_TASKS_H
#define IOPROBE_BPF_TASKS_H

#include "call_site.bpf.h"
#include "recognise.bpf.h"
#include "wait.bpf.h"

/* From Linux 7.2 on a raw tracepoint's program can be preempted, and the kernel skips its runs for others on that CPU until it has
 * ended. There each program of this file is attached twice: what the first does not see is left to the second, and what it has
 * seen is marked in the state of the thread. An event is lost only if both were skipped. */

/* Used in place of a recording's id: the generations in ids begin with 1. */
#define THREAD_JOINS 1
#define THREAD_DROPPED 2

/* Clears everything that an ended recording left in the thread. Returns false if the state is being freed concurrently
 * (drop_threads). */
static __always_inline bool thread_join(struct thread *t, u32 recording)
{
	u32 was = t->recording;

	if (was == recording)
		return true;
	if (was == THREAD_DROPPED || __sync_val_compare_and_swap(&t->recording, was, THREAD_JOINS) != was)
		return false;
	t->seq = t->depth = t->process = t->group_ended = t->ended = t->table = 0;
	t->files = t->last_fork = t->last_exec = 0;
	t->cpu.ended = t->cpu.since_ns = 0;
	t->held.leave_ns = 0;
	t->header.room = 0;
	t->fd_calls[0].index = t->fd_calls[1].index = t->fd_change.index = 0;
	t->returns_without_frame = t->frames_too_deep = 0;
	t->slept_ns = t->sleeps_since_ns = 0;
	t->home_size = t->trampoline = 0;
	t->site = 0;
	t->up.renews = false;
	barrier();
	t->recording = recording;
	return true;
}

static __always_inline struct thread *thread_create(struct task_struct *task, u32 recording)
{
	for (int i = 0; i < 4; i++) {
		struct thread *t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

		if (!t)
			break;
		if (thread_join(t, recording))
			return t;
	}
	COUNT(recording, untracked, 1);
	return 0;
}

/* A new process starts on a copy of the stack of the thread that created it, with the same addresses. */
static __always_inline void inherit_stacks(struct thread *child, struct thread *parent, u32 child_tgid)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct iop_process_key key = process_key(parent), child_key = { child_tgid, parent->recording };
	u32 now = IOP_FROM_NOW;

	if (!parent->home_size)
		stack_elsewhere(parent, regs->sp);
	child->home_low = parent->home_low;
	child->home_size = parent->home_size;
	if (recording_by(parent->recording)->any_entry_only && bpf_map_lookup_elem(&entry_only, &key))
		bpf_map_update_elem(&entry_only, &child_key, &now, BPF_ANY);
}

/* A thread joins its process' slot; a process gets a new one. */
static __always_inline void join_process(struct thread *t, struct thread *leader, u32 tgid)
{
	t->process = leader ? leader->process : process_allocate(t->recording, tgid);
}

static __always_inline int fork_process(struct task_struct *parent, struct task_struct *child)
{
	struct thread *t = thread_of(bpf_get_current_task_btf()), *c;
	struct iop_rec_fork *rec;
	u32 table_flags;
	bool thread;

	if (!t || t->last_fork == child->start_time)
		return 0;
	t->last_fork = child->start_time;
	thread = child->tgid == parent->tgid;
	c = thread_create(child, t->recording);
	table_check(t, parent);
	if (c)
		join_process(c, thread ? t : 0, child->tgid);
	table_flags = table_of_child(t, c, child, thread);
	if (c && thread)
		home_of_new_thread(c, parent);
	else if (c)
		inherit_stacks(c, t, child->tgid);
	if (c && !thread)
		inherit_image(c, t);
	rec = (void *)t->scratch;
	rec->child_tid = child->pid;
	rec->child_tgid = child->tgid;
	rec->flags = c ? table_flags : table_flags | IOP_FORK_UNTRACKED;
	rec->table = 0;
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), child->comm);
	rec_header(&rec->rec, t, IOP_REC_FORK, 0, sizeof(*rec), bpf_ktime_get_ns());
	send_record(t, rec, sizeof(*rec), !thread);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int process_fork(u64 *ctx)
{
	return fork_process((void *)ctx[0], (void *)ctx[1]);
}

SEC("tp_btf/sched_process_fork")
int process_fork_2(u64 *ctx)
{
	return fork_process((void *)ctx[0], (void *)ctx[1]);
}

/* The agent configures the program that it launches before it is executed. */
static __always_inline void entry_only_after_exec(struct iop_process_key *key)
{
	u32 *from = bpf_map_lookup_elem(&entry_only, key);

	if (from && *from == IOP_FROM_NEXT_EXEC)
		*from = IOP_FROM_NOW;
	else
		bpf_map_delete_elem(&entry_only, key);
}

/* The exec may have closed descriptors, and the kernel has mapped new code. */
static __always_inline void new_program(struct thread *t)
{
	struct process *p = process_of(t);

	t->home_size = t->trampoline = 0;
	t->files = (u64)LOAD(bpf_get_current_task_btf(), files);
	t->up.renews = false;
	if (p) {
		p->unprobed_code = 1;
		p->image = call_sites ? new_image() : 0;
	}
	p = table_of(t);
	if (p)
		forget_all_fds(p);
}

/* Ends the recording of a thread. */
static __always_inline void thread_leave(struct thread *t, bool group_dead, s32 exit_code)
{
	struct iop_rec_task_exit_hits *all = (void *)t->scratch;
	struct iop_rec_task_exit *rec = &all->exit;
	struct process *p;

	rec->group_dead = group_dead;
	rec->exit_code = exit_code;
	rec->returns_without_frame = t->returns_without_frame;
	rec->frames_too_deep = t->frames_too_deep;
	all->hits = t->hits;
	rec_header(&rec->rec, t, IOP_REC_TASK_EXIT, 0, sizeof(*all), bpf_ktime_get_ns());
	send_record(t, all, sizeof(*all), group_dead);
	table_leave(t);
	p = process_of(t);
	if (group_dead && p)
		p->owner = 0;
	if (group_dead && recording_by(t->recording)->any_entry_only) {
		struct iop_process_key key = process_key(t);

		bpf_map_delete_elem(&entry_only, &key);
	}
}

/* A user must not see what a program does with privileges that the user does not have: the process ends here for the user's
 * recording. */
static __always_inline bool is_privileged(u32 recording, struct linux_binprm *bprm)
{
	return recording_by(recording)->users_rights_only && BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec);
}

/* Execs of privileged programs, which are not recorded. */
struct exec_key { u64 start_time, exec; u64 tid; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct exec_key);
	__type(value, u32);
} turned_away SEC(".maps");

static __always_inline struct exec_key exec_key(struct task_struct *task)
{
	return (struct exec_key){ task->start_time, task->self_exec_id, task->pid };
}

/* Returns whether the other program has already handled this exec of a process that is not, or no longer, recorded. */
static __always_inline bool is_turned_away(struct task_struct *task)
{
	struct exec_key key = exec_key(task);

	return bpf_map_lookup_elem(&turned_away, &key);
}

static __always_inline void turn_away(struct task_struct *task, u32 recording)
{
	struct exec_key key = exec_key(task);
	u32 seen = 1;

	COUNT(recording, privileged, 1);
	bpf_map_update_elem(&turned_away, &key, &seen, BPF_ANY);
}

/* A process that is not recorded may join a recording at its exec. Returns its state if it does. */
static __always_inline struct thread *join_at_exec(struct task_struct *task, struct linux_binprm *bprm)
{
	u32 recording = recording_launching(task->tgid);
	struct thread *t;

	if (!recording) {
		recording = recording_awaiting(task->cred->uid.val);
		if (recording && is_privileged(recording, bprm)) {
			turn_away(task, recording);
			return 0;
		}
	}
	if (!recording)
		return 0;
	t = thread_create(task, recording);
	if (t)
		join_process(t, 0, task->tgid);
	return t;
}

#define AT_NULL 0
#define AT_BASE 7
#define AUXV_WORDS 46

/* Returns whether the program has no dynamic linker: its first instruction is its own. */
__noinline bool is_static(struct thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 *auxv;

	if (!t)
		return false;
	auxv = (void *)t->scratch;
	if (bpf_probe_read_kernel(auxv, 8 * AUXV_WORDS, LOAD(task, mm)->saved_auxv))
		return false;
	for (u32 i = 0; i < AUXV_WORDS && auxv[i] != AT_NULL; i += 2)
		if (auxv[i] == AT_BASE)
			return !auxv[i + 1];
	return true;
}

static __always_inline int exec_process(struct linux_binprm *bprm, u32 old_tid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct iop_process_key key;
	struct iop_rec_exec *rec;
	long n;

	if (!t && !is_turned_away(task))
		t = join_at_exec(task, bprm);
	if (!t || t->last_exec == task->self_exec_id)
		return 0;
	t->last_exec = task->self_exec_id;
	abandon_to(t, 0, bpf_ktime_get_ns());
	if (is_privileged(t->recording, bprm)) {
		turn_away(task, t->recording);
		thread_leave(t, true, 0);
		bpf_task_storage_delete(&threads, task);
		return 0;
	}
	new_program(t);
	count_compat(t->recording, task);
	key = process_key(t);
	if (recording_by(t->recording)->any_constants)
		bpf_map_delete_elem(&constants, &key);          /* their addresses belong to the old program */
	if (recording_by(t->recording)->any_entry_only)
		entry_only_after_exec(&key);
	rec = (void *)t->scratch;
	rec->old_tid = old_tid;
	n = bpf_probe_read_kernel_str(rec->path, PATH_ROOM, BPF_CORE_READ(bprm, filename));
	rec->path_len = n > 0 ? (n - 1) & (PATH_ROOM - 1) : 0;
	n = (sizeof(*rec) + rec->path_len + 7) & ~7u;
	rec_header(&rec->rec, t, IOP_REC_EXEC, 0, n, bpf_ktime_get_ns());
	send_record(t, rec, n & 0x1fff, true);
	if (hold_at_seal && recording_by(t->recording)->hold_limit_ns && is_static(t))
		hold_until_probed(t, task, task->mm->start_stack);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int process_exec(u64 *ctx)
{
	return exec_process((void *)ctx[2], ctx[1]);
}

SEC("tp_btf/sched_process_exec")
int process_exec_2(u64 *ctx)
{
	return exec_process((void *)ctx[2], ctx[1]);
}

/* The kernel decrements the count of live threads before this tracepoint, so two threads that end at once may both read zero: the
 * first one reports the end. The leader's state outlives the other threads: the leader is not reaped before they have ended. */
static __always_inline bool is_last_thread(struct task_struct *task, struct thread *t)
{
	struct thread *leader;

	if (BPF_CORE_READ(task, signal, live.counter))
		return false;
	leader = thread_of(task->group_leader);
	return !__sync_val_compare_and_swap(leader ? &leader->group_ended : &t->group_ended, 0, 1);
}

static __always_inline int exit_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);

	if (!t || t->ended)
		return 0;
	t->ended = 1;
	abandon_to(t, 0, bpf_ktime_get_ns());
	thread_leave(t, is_last_thread(task, t), task->exit_code);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(u64 *ctx)
{
	return exit_thread();
}

SEC("tp_btf/sched_process_exit")
int process_exit_2(u64 *ctx)
{
	return exit_thread();
}

/* Includes every thread of the target processes; run until it finds no new one. */
SEC("iter/task")
int take_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct iop_target *target;
	struct thread *t;
	u32 tgid;

	if (!task)
		return 0;
	tgid = task->tgid;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (!target || target->taker != bpf_get_current_pid_tgid() >> 32 || thread_of(task))
		return 0;
	t = thread_create(task, target->recording);
	if (!t)
		return 0;
	if (!target->process) {
		target->process = process_allocate(target->recording, tgid);
		count_compat(target->recording, task);
	}
	t->process = target->process;
	table_of_found(t, task);
	recording_by(target->recording)->threads_taken++;
	return 0;
}

/* Frees the state that an ended recording left in living tasks: without it they cost no more than untraced ones. */
SEC("iter/task")
int drop_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t = task ? bpf_task_storage_get(&threads, task, 0, 0) : 0;
	u32 was = t ? t->recording : 0;

	if (was > THREAD_DROPPED && !is_recording(was) && __sync_val_compare_and_swap(&t->recording, was, THREAD_DROPPED) == was)
		bpf_task_storage_delete(&threads, task);
	return 0;
}

#endif
