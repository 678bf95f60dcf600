/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes and threads: creation, inheritance, exec and exit. Pids and tids are reused: a fork creates a new process or thread
 * even if its number is known.
 */
#include "replay/process.h"
#include "replay/async/helpers.h"
#include "replay/calls.h"
#include "replay/facts/lists.h"
#include "replay/fd/fd_epochs.h"
#include "replay/fd/fd_tables.h"
#include "replay/fd/locks.h"
#include "replay/library/handles.h"
#include "replay/library/requests.h"
#include "replay/locations.h"
#include "replay/mappings.h"
#include "replay/mpi/comms.h"
#include "replay/paths.h"
#include "replay/registry.h"
#include "replay/sizes/known.h"
#include "replay/sizes/sized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

static void thread_free(struct replay *r, struct thread *thread)
{
	if (thread->tid == thread->process->tgid)
		thread->process->master_last_ns = thread->last_ns;
	if (r->cached_thread == thread)
		r->cached_thread = NULL;
	thread->process->nthreads--;
	HASH_DEL(r->threads, thread);
	for (unsigned i = 0; i < thread->nframes; i++)
		object_release(thread->frames[i].object);
	for (unsigned i = 0; i < thread->cap; i++) {
		free(thread->frames[i].text);
		free(thread->frames[i].path);
		free(thread->frames[i].header);
		fact_list_free(thread->frames[i].facts);
	}
	free(thread->frames);
	free(thread->submitted.v);
	free(thread->states.v);
	fd_table_release(thread->table);
	free(thread);
}

/* A leader may exit before its process; records of the last threads may come after the record of the process' end. */
static int master_end(struct replay *r, struct process *process)
{
	uint32_t location = process->master_location;

	if (!process->dead || process->nthreads)
		return 0;
	process->master_location = REF_NONE;
	return location_thread_gone(r, location, process->master_last_ns);
}

int thread_end(struct replay *r, struct thread *thread, uint64_t time_ns)
{
	struct process *process = thread->process;
	uint32_t location;
	uint64_t last_ns;
	int ret = call_abandon_to(r, thread, 0, time_ns);

	location = thread->location != process->master_location ? thread->location : REF_NONE;
	last_ns = thread->last_ns;
	thread_free(r, thread);
	if (!ret)
		ret = location_thread_gone(r, location, last_ns);
	return ret ? ret : master_end(r, process);
}

struct thread *thread_get(struct replay *r, uint32_t tid, uint32_t tgid)
{
	struct thread *thread = r->cached_thread;
	struct process *process;

	if (thread && thread->tid == tid && thread->process->tgid == tgid)
		return thread;
	thread = thread_find(r, tid);
	if (thread && thread->process->tgid != tgid) {
		thread_end(r, thread, thread->last_rec_ns);
		thread = NULL;
	}
	if (!thread) {
		process = process_get(r, tgid);
		if (process && process->dead)   /* its fork was not recorded */
			process = process_new(r, tgid);
		thread = process ? thread_new(r, tid, process) : NULL;
	}
	return r->cached_thread = thread;
}

/* ---- fork ---- */

static int set_cwd(struct process *process, const char *path)
{
	char *copy = path ? strdup(path) : NULL;

	if (path && !copy)
		return -ENOMEM;
	free(process->cwd);
	process->cwd = copy;
	return 0;
}

static const char *comm_string(struct replay *r, const char *comm, size_t room)
{
	return comm[0] ? model_string(r->model, comm, strnlen(comm, room)) : NULL;
}

/* A child runs its parent's program until it executes another one. */
static void inherit_program(struct replay *r, const struct process *child, const struct process *parent)
{
	struct model_process *life = &r->model->processes.v[child->group];
	const struct model_process *from = &r->model->processes.v[parent->group];

	life->executable = from->executable;
	life->command_line = from->command_line;
	life->batch_job = from->batch_job;
	life->uid = from->uid;
	life->has_uid = from->has_uid;
	life->ppid = parent->tgid;
}

static int process_inherit(struct replay *r, struct process *child, const struct process *parent)
{
	inherit_program(r, child, parent);
	r->infos.v[child->group].mntns = r->infos.v[parent->group].mntns;
	r->infos.v[child->group].parent = parent->group;
	memcpy(child->libraries, parent->libraries, sizeof(child->libraries));
	if (set_cwd(child, parent->cwd) || mappings_inherit(child, parent))
		return -ENOMEM;
	return object_inherit(r, child, parent);
}

static int process_found(struct replay *r, const struct iop_rec_fork *rec)
{
	struct thread *thread = thread_get(r, rec->child_tid, rec->child_tgid);

	if (!thread)
		return -ENOMEM;
	r->model->processes.v[thread->process->group].was_running = true;
	if (rec->child_tid == rec->child_tgid && !r->infos.v[thread->process->group].comm)
		r->infos.v[thread->process->group].comm = comm_string(r, rec->comm, sizeof(rec->comm));
	return rec->table ? fd_table_found(r, thread, rec->table) : 0;
}

static int forked_table(struct fd_table **place, struct thread *maker, bool shared)
{
	return fd_table_set(place, shared ? fd_table_hold(maker->table) : fd_table_copy(maker->table));
}

static int forked_thread(struct replay *r, struct thread *maker, const struct iop_rec_fork *rec)
{
	struct thread *thread = thread_new(r, rec->child_tid, maker->process);

	if (!thread)
		return -ENOMEM;
	helper_thread_made(r, maker, thread);
	return forked_table(&thread->table, maker, !(rec->flags & IOP_FORK_OWN_FILES));
}

int process_fork(struct replay *r, struct thread *thread, const struct iop_rec_fork *rec)
{
	struct process *process;
	struct thread *old;
	int ret;

	if (!thread)
		return process_found(r, rec);
	process = thread->process;
	if (rec->flags & IOP_FORK_UNTRACKED &&
	    model_note(r->model, "no memory to trace thread %u of process %u", rec->child_tid, rec->child_tgid))
		return -ENOMEM;
	old = thread_find(r, rec->child_tid);
	if (old && old != thread) {
		ret = thread_end(r, old, rec->rec.time_ns);
		if (ret)
			return ret;
	}
	if (rec->child_tgid == process->tgid)
		return forked_thread(r, thread, rec);
	process = process_new(r, rec->child_tgid);
	if (!process || process_inherit(r, process, thread->process) ||
	    forked_table(&process->table, thread, rec->flags & IOP_FORK_SHARED_FILES))
		return -ENOMEM;
	r->model->processes.v[process->group].begin_ns = rec->rec.time_ns;
	r->infos.v[process->group].comm = comm_string(r, rec->comm, sizeof(rec->comm));
	return thread_new(r, rec->child_tid, process) ? 0 : -ENOMEM;
}

/* ---- exec ---- */

/* The thread that calls exec becomes the leader and gets its tid; its sequence of records continues. */
int process_exec_thread(struct replay *r, const struct iop_rec_exec *rec)
{
	struct thread *caller, *leader;
	int ret;

	if (rec->old_tid == rec->rec.tid)
		return 0;
	caller = thread_find(r, rec->old_tid);
	leader = thread_get(r, rec->rec.tid, rec->rec.tgid);
	if (!leader)
		return -ENOMEM;
	if (!caller || caller == leader)
		return 0;
	leader->last_seq = caller->last_seq;
	leader->last_rec_ns = caller->last_rec_ns;
	ret = fd_table_set(&leader->table, fd_table_hold(caller->table));
	if (!ret)
		ret = thread_end(r, caller, rec->rec.time_ns);
	return ret;
}

static int abandon_all(struct replay *r, struct process *process, uint64_t time_ns)
{
	int ret = 0;

	for (struct thread *t = r->threads; t && !ret; t = t->hh.next)
		if (t->process == process)
			ret = call_abandon_to(r, t, 0, time_ns);
	return ret;
}

/* Properties of the new program that are read from /proc come with a PROCESS record; until then those of the old program must not
 * be used. */
static int name_program(struct replay *r, struct process *process, const struct iop_rec_exec *rec)
{
	struct model_process *life = &r->model->processes.v[process->group];
	struct model_program *program = MODEL_ADD(r->model->programs);
	const char *path = rec->path_len ? model_string(r->model, rec->path, rec->path_len) : NULL;

	if (!program || (rec->path_len && !path))
		return -ENOMEM;
	*program = (struct model_program){ process->group, rec->rec.time_ns, path };
	life->executable = path;
	life->command_line = NULL;
	if (path)
		r->infos.v[process->group].comm = comm_string(r, path_last(path), 15);
	return 0;
}

int process_exec(struct replay *r, struct thread *thread, const struct iop_rec_exec *rec)
{
	struct process *process = thread->process;
	int ret = abandon_all(r, process, rec->rec.time_ns);

	if (!ret)
		ret = fd_table_exec(r, thread);
	if (!ret)
		ret = fd_exec(r, thread, rec->rec.time_ns);
	requests_end(r, process);
	helper_forget_all(process);
	known_iterated_free(process);
	fact_lists_free(process);
	object_free_all(process);
	comms_free_process(process);
	sized_free_all(process);
	mappings_drop(process);
	memset(process->libraries, 0, sizeof(process->libraries));
	process->from_start = true;
	process->fact_lists_dropped = false;
	return ret ? ret : name_program(r, process, rec);
}

/* ---- the end ---- */

static void process_die(struct replay *r, struct process *process)
{
	requests_end(r, process);
	helper_forget_all(process);
	process->dead = true;
	fd_table_release(process->table);
	process->table = NULL;
	locks_free(process);
	known_iterated_free(process);
	fact_lists_free(process);
	object_free_all(process);
	comms_free_process(process);
	sized_free_all(process);
	mappings_drop(process);
	free(process->cwd);
	process->cwd = NULL;
}

/* Records of older versions have none. */
static void add_probe_hits(struct model_process *life, const struct iop_rec_task_exit *rec)
{
	bool counted = rec->rec.len >= sizeof(struct iop_rec_task_exit_hits);

	life->hits_missing |= !counted;
	life->probe_hits += counted ? ((const struct iop_rec_task_exit_hits *)rec)->hits : 0;
	life->has_probe_hits = rec->group_dead && !life->hits_missing;
}

int process_task_exit(struct replay *r, struct thread *thread, const struct iop_rec_task_exit *rec)
{
	struct process *process = thread->process;
	int ret;

	add_probe_hits(&r->model->processes.v[process->group], rec);
	r->model->totals.returns_without_frame += rec->returns_without_frame;
	r->model->totals.frames_too_deep += rec->frames_too_deep;
	if (thread->location != REF_NONE)
		r->model->lifetimes.v[thread->location].end_ns = rec->rec.time_ns;
	ret = thread_end(r, thread, rec->rec.time_ns);
	if (rec->group_dead) {
		struct model_process *life = &r->model->processes.v[process->group];

		life->end_ns = rec->rec.time_ns;
		life->status = rec->exit_code;
		life->has_status = true;
		process_die(r, process);
	}
	return ret ? ret : master_end(r, process);
}

int process_cwd(struct process *process, const struct iop_rec_fd *rec)
{
	char *path = path_from_names(rec->path, rec->path_len, rec->state & IOP_FD_TRUNCATED);
	int ret = path ? set_cwd(process, path) : -ENOMEM;

	free(path);
	return ret;
}

void process_free_all(struct replay *r)
{
	struct thread *thread, *next_thread;
	struct process *process;

	HASH_ITER(hh, r->threads, thread, next_thread)
		thread_free(r, thread);
	HASH_CLEAR(hh, r->processes);
	while ((process = r->all_processes)) {
		r->all_processes = process->next;
		process_die(r, process);
		free(process);
	}
	free(r->infos.v);
}
