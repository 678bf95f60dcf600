/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Descriptor tables of threads: created by clone(2) without CLONE_FILES or by unshare(2). Such a table has a slot of its own beside
 * those of processes for what was described of its descriptors; the last thread that uses it frees the slot.
 */
#ifndef IOPROBE_BPF_TABLES_H
#define IOPROBE_BPF_TABLES_H

#include "emit.bpf.h"

#define NO_TABLE_SLOT MAX_PROCESSES     /* its descriptors are described only when they are created */

/* Returns the state of the descriptors that this thread uses; NULL if there is none. */
static __always_inline struct process *table_of(struct thread *t)
{
	u32 slot = t->table ? t->table : t->process;

	return slot ? bpf_map_lookup_elem(&processes, &slot) : 0;
}

__noinline int table_leave(struct thread *t)
{
	u32 slot = t ? t->table : 0;
	struct process *p = slot ? bpf_map_lookup_elem(&processes, &slot) : 0;

	if (p && __sync_fetch_and_add(&p->table_users, -1) == 1)
		p->owner = 0;
	if (t)
		t->table = 0;
	return 0;
}

static __always_inline void table_begin(struct thread *t, u32 tgid)
{
	u32 slot = process_allocate(t->recording, tgid);

	t->table = slot ? slot : NO_TABLE_SLOT;
}

__noinline int table_unshared(struct thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct iop_rec *rec;

	if (!t)
		return 0;
	table_leave(t);
	table_begin(t, task->tgid);
	t->files = (u64)LOAD(task, files);
	rec = (void *)t->scratch;
	rec_header(rec, t, IOP_REC_OWN_FILES, 0, sizeof(*rec), bpf_ktime_get_ns());
	send_record(t, rec, sizeof(*rec), false);
	return 0;
}

/* The thread's table may have changed since its last call. For the current task only. */
static __always_inline void table_check(struct thread *t, struct task_struct *task)
{
	u64 files = (u64)task->files;

	if (files == t->files)
		return;
	if (t->files)
		table_unshared(t);
	else
		t->files = files;
}

/* c: the child's state, NULL if there is none. Returns flags of the FORK record. */
static __always_inline u32 table_of_child(struct thread *t, struct thread *c, struct task_struct *child, bool thread)
{
	u64 files = (u64)LOAD(child, files);
	bool shared = files == t->files;
	struct process *p;

	if (c)
		c->files = files;
	if (!thread)
		return shared ? IOP_FORK_SHARED_FILES : 0;
	if (c && !shared)
		table_begin(c, child->tgid);
	p = shared ? table_of(t) : 0;
	if (p)
		p->many_threads = 1;
	if (c && shared && t->table) {
		if (p)
			__sync_fetch_and_add(&p->table_users, 1);
		c->table = t->table;
	}
	return shared ? 0 : IOP_FORK_OWN_FILES;
}

/* For a thread that existed before the recording. */
static __always_inline void table_of_found(struct thread *t, struct task_struct *task)
{
	struct process *p = process_of(t);
	u64 leaders;

	if (p)
		p->many_threads = 1;    /* perhaps it has not: the cost of assuming so is small */
	leaders = (u64)LOAD(LOAD(task, group_leader), files);
	t->files = (u64)LOAD(task, files);
	if (t->files != leaders && t->files && leaders)
		table_begin(t, task->tgid);
}

#endif
