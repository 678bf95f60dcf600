/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes and threads by pid and tid. Numbers are reused: a new process replaces the previous one with the same number.
 */
#include "replay/registry.h"
#include "replay/fd/fd_tables.h"

#include <stdlib.h>

struct process *process_new(struct replay *r, uint32_t tgid)
{
	struct process *process = calloc(1, sizeof(*process)), *old;
	struct fd_table *table = fd_table_new();
	struct model_group *group = process ? MODEL_ADD(r->model->groups) : NULL;
	struct group_info *info = group ? MODEL_ADD(r->infos) : NULL;
	struct model_process *life = info ? MODEL_ADD(r->model->processes) : NULL;

	if (!life || !table) {
		fd_table_release(table);
		free(process);
		return NULL;
	}
	group->tgid = tgid;
	group->rank = group->launch_size = info->rank = info->size = -1;
	info->parent = REF_NONE;
	process->table = table;
	life->begin_ns = r->last_ns;
	process->tgid = tgid;
	process->group = r->model->groups.n - 1;
	process->master_location = REF_NONE;
	process->next = r->all_processes;
	r->all_processes = process;
	HASH_FIND(hh, r->processes, &tgid, sizeof(tgid), old);
	process->replaced = old;
	if (old)
		HASH_DEL(r->processes, old);
	HASH_ADD(hh, r->processes, tgid, sizeof(process->tgid), process);
	return hash_added(process) ? process : NULL;    /* owned by the list of all processes */
}

struct process *process_get(struct replay *r, uint32_t tgid)
{
	struct process *process;

	HASH_FIND(hh, r->processes, &tgid, sizeof(tgid), process);
	return process ?: process_new(r, tgid);
}

struct thread *thread_new(struct replay *r, uint32_t tid, struct process *process)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->begin_ns = tid == process->tgid ? r->model->processes.v[process->group].begin_ns : r->last_ns;
	thread->process = process;
	thread->table = fd_table_hold(process->table);
	thread->location = REF_NONE;
	if (tid == process->tgid) {
		thread->location = process->master_location;
		thread->last_ns = process->master_last_ns;
	}
	HASH_ADD(hh, r->threads, tid, sizeof(thread->tid), thread);
	if (!hash_added(thread)) {
		fd_table_release(thread->table);
		free(thread);
		return NULL;
	}
	process->nthreads++;
	process->threaded |= process->nthreads > 1;
	return thread;
}

struct thread *thread_find(struct replay *r, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, r->threads, &tid, sizeof(tid), thread);
	return thread;
}
