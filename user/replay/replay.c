/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Runs a replay: passes the spool's records in time order to their handlers; accounts for losses; writes the definitions at the
 * end.
 */
#include "replay/async/aio.h"
#include "replay/async/async.h"
#include "replay/async/helpers.h"
#include "replay/call_names.h"
#include "replay/calls.h"
#include "replay/cpu_time.h"
#include "replay/events.h"
#include "replay/facts/facts.h"
#include "replay/fd/fd_epochs.h"
#include "replay/fd/fd_tables.h"
#include "replay/fd/fds.h"
#include "replay/fd/sockets.h"
#include "replay/file_mounts.h"
#include "replay/file_stripes.h"
#include "replay/feed.h"
#include "replay/files.h"
#include "replay/library/handles.h"
#include "replay/library/requests.h"
#include "replay/mappings.h"
#include "replay/mpi/comms.h"
#include "replay/mpi/ranks.h"
#include "replay/names.h"
#include "replay/notes.h"
#include "replay/process.h"
#include "replay/registry.h"
#include "replay/replay.h"
#include "replay/sites.h"
#include "replay/sizes/shapes.h"
#include "replay/sizes/spaces.h"
#include "replay/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- records of threads ---- */

/* Returns 1 to process the record, 0 to skip it (its gap was already counted as lost), or -errno. */
static int check_sequence(struct replay *r, struct thread **thread, const struct iop_rec *rec)
{
	struct thread *t = *thread;
	int ret = 0;

	/* the tid is reused; the end of the previous thread was not recorded */
	if (rec->seq == 1 && t->last_seq && rec->time_ns > t->last_rec_ns) {
		ret = thread_end(r, t, t->last_rec_ns);
		t = *thread = ret ? NULL : thread_get(r, rec->tid, rec->tgid);
		if (!t)
			return ret ? ret : -ENOMEM;
	}
	if (rec->seq <= t->last_seq) {
		r->late++;
		return 0;
	}
	if (rec->seq > t->last_seq + 1)
		ret = call_loss(r, t, t->last_rec_ns, rec->time_ns, rec->seq - t->last_seq - 1);
	t->last_seq = rec->seq;
	t->last_rec_ns = rec->time_ns;
	return ret ? ret : 1;
}

static int thread_record(struct replay *r, const struct iop_rec *rec)
{
	struct thread *thread;
	int ret = rec->type == IOP_REC_EXEC ? process_exec_thread(r, (const void *)rec) : 0;

	thread = ret ? NULL : thread_get(r, rec->tid, rec->tgid);
	if (!thread)
		return ret ? ret : -ENOMEM;
	ret = check_sequence(r, &thread, rec);
	if (ret <= 0)
		return ret;
	switch (rec->type) {
	case IOP_REC_CALL:
	case IOP_REC_ENTER:
	case IOP_REC_EXIT: return call_record(r, thread, (const void *)rec);
	case IOP_REC_FD: return fd_record(r, thread->process, thread->table, (const void *)rec);
	case IOP_REC_MOUNT: return file_mount_record(r, (const void *)rec);
	case IOP_REC_CWD: return process_cwd(thread->process, (const void *)rec);
	case IOP_REC_FORK: return process_fork(r, thread, (const void *)rec);
	case IOP_REC_FD_EPOCH: return fd_epoch_record(r, thread, (const void *)rec);
	case IOP_REC_OWN_FILES: return fd_table_unshare(thread);
	case IOP_REC_EXEC: return process_exec(r, thread, (const void *)rec);
	case IOP_REC_CONSTANTS: return space_constants(r, thread->process, (const void *)rec);
	case IOP_REC_TASK_EXIT: return process_task_exit(r, thread, (const void *)rec);
	case IOP_REC_ASYNC: return async_record(r, thread, (const void *)rec);
	case IOP_REC_ASYNC_END: return async_end_record(r, thread, (const void *)rec);
	case IOP_REC_FILE: return async_file(r, thread->process, (const void *)rec);
	case IOP_REC_CONTENTS: return call_contents(r, thread, (const void *)rec);
	case IOP_REC_DEVICE: return call_device(r, thread, (const void *)rec);
	case IOP_REC_COLLECTIVE: return call_collective(r, thread, (const void *)rec);
	case IOP_REC_CPU: return cpu_record(thread, (const void *)rec);
	case IOP_REC_SOCKET: return socket_record(r, thread->process, (const void *)rec);
	case IOP_REC_REQUESTS: return requests_record(r, thread, (const void *)rec);
	case IOP_REC_SUBMITTED: return aio_submitted(r, thread, (const void *)rec);
	default: return 0;
	}
}

/* Records without a sequence number: state found in /proc at attach, and io_uring completions posted by kernel workers. */
static int scan_record(struct replay *r, const struct iop_rec *rec)
{
	struct process *process;

	if (rec->type == IOP_REC_ASYNC_END)
		return async_end_record(r, NULL, (const void *)rec);
	process = process_get(r, rec->tgid);
	if (!process)
		return -ENOMEM;
	if (process->dead)
		return 0;
	if (rec->type == IOP_REC_FORK)
		return process_fork(r, NULL, (const void *)rec);
	return rec->type == IOP_REC_FD ? fd_record(r, process, process->table, (const void *)rec) : 0;
}

static uint64_t replay_greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Whether the recorder, at a bound, has refused records that are older than this one. */
static bool after_refused(struct replay *r, const struct iop_rec *rec)
{
	r->bound_reached |= r->bound_ns && rec->time_ns >= r->bound_ns;
	r->model->end.after_bound += r->bound_reached;
	return r->bound_reached;
}

/* Returns whether the trace ended before this record, because a size limit was reached. */
static bool beyond_bound(struct replay *r)
{
	struct model_end *end = &r->model->end;

	for (size_t i = 0; i < r->nsinks && r->bounded && !r->cut; i++) {
		const char *bound = r->sinks[i]->full ? r->sinks[i]->full(r->sinks[i], r->model) : NULL;

		if (!bound)
			continue;
		r->cut = true;
		end->stopped_by = bound;
		end->reason = model_stringf(r->model, "--%s left no room for more in the archive", bound);
	}
	end->cut += r->cut;
	end->after_bound += r->cut;
	return r->cut;
}

static int replay_one_record(struct replay *r, const struct iop_rec *rec)
{
	if (rec->time_ns > r->last_ns)
		r->last_ns = rec->time_ns;
	if (rec->type == IOP_REC_LOST) {
		r->lost_records += ((const struct iop_rec_lost *)rec)->lost;
		return 0;
	}
	if (rec->type >= IOP_REC_AGENT)
		return text_record(r, (const void *)rec);
	if (after_refused(r, rec) || beyond_bound(r))
		return 0;
	return rec->seq ? thread_record(r, rec) : scan_record(r, rec);
}

/* ---- the end ---- */

static int abandon_open_calls(struct replay *r)
{
	int ret = 0;

	for (struct thread *thread = r->threads; thread && !ret; thread = thread->hh.next)
		ret = call_abandon_to(r, thread, 0, r->last_ns);
	return ret;
}

/* Three views of one thing: gaps in the threads' sequences miss what a thread lost last; the counters of the rings miss what a
 * killed agent had not written; the number of records that were written, less those that are there, is that. The first overlaps the
 * others. What could not be written includes records of the agent's own. */
static uint64_t lost_records(const struct replay *r)
{
	uint64_t gone = r->counted && r->written_records > r->read_records ? r->written_records - r->read_records : 0;

	return replay_greater(replay_greater(r->lost_records, r->counted_lost) + replay_greater(gone, r->dropped_records),
			      r->gap_records);
}

static int count_note(struct replay *r, uint64_t n, const char *what)
{
	return n ? model_note(r->model, "%llu %s", (unsigned long long)n, what) : 0;
}

static int losses_digest(struct replay *r)
{
	if (!r->loss_notes)
		return 0;
	return model_digest(r->model, "%llu records are missing in %zu places; the archive's properties IOPROBE::NOTE_* tell where",
			    (unsigned long long)r->gap_records, r->loss_notes);
}

static int requests_notes(struct replay *r)
{
	int ret = count_note(r, r->requests_open, "non-blocking operations are open: no wait or test on them was observed");

	ret = ret ? ret : count_note(r, r->requests_left,
				     "non-blocking operations are open: the call that began them did not return");
	ret = ret ? ret : count_note(r, r->requests_freed, "non-blocking operations are open: their requests were freed");
	ret = ret ? ret :
		    count_note(r, r->requests_refused, "operations of refused lists are not recorded: some may have begun");
	return ret ? ret :
		     count_note(r, r->requests_beyond, "requests beyond the first 512 of an array were not inspected: their "
			"operations may be open");
}

static int replay_clock_note(struct replay *r)
{
	const struct model *model = r->model;
	int64_t sum_ns = 0;

	for (size_t i = 0; i < model->clock_steps.n; i++)
		sum_ns += model->clock_steps.v[i].step_ns;
	return model->clock_steps.n ? model_note(r->model,
						 "the wall clock was set %zu times during the recording, by %+.6f s in all: "
						 "durations are not affected", model->clock_steps.n, sum_ns / 1e9) : 0;
}

static int finish_totals(struct replay *r)
{
	struct model *model = r->model;
	int ret;

	model->totals.lost_records = lost_records(r);
	model->totals.late_records = r->late;
	model->totals.returns_without_frame += r->orphans;
	model->losses_counted = r->counted;
	ret = losses_digest(r);
	if (!ret && r->loss_notes > LOSS_NOTES_MAX)
		ret = model_note_exact(model, "%zu further losses are not listed", r->loss_notes - LOSS_NOTES_MAX);
	ret = ret ? ret : notes_finish(r);
	ret = ret ? ret : call_names_finish(r);
	ret = ret ? ret : async_finish(r);
	ret = ret ? ret : helpers_finish(r);
	ret = ret ? ret : requests_notes(r);
	ret = ret ? ret : count_note(r, r->overlapped,
				     "calls were on descriptors that another thread closed or replaced meanwhile: "
				     "they count for the file that the descriptor had when they began");
	ret = ret ? ret : count_note(r, r->undescribed, "descriptors without a description were used");
	ret = ret ? ret :
		    count_note(r, r->unknown_locks, "fcntl locks are recorded as calls only: their struct flock could not be read");
	ret = ret ? ret : count_note(r, r->unknown_unlocks, "unlocks without a matching recorded lock: no event written");
	if (!ret && r->unnamed_mapped)
		ret = model_note(model, "%llu page faults on %u mapped files whose names are not known",
				 (unsigned long long)r->unnamed_faults, r->unnamed_mapped);
	ret = ret ? ret : replay_clock_note(r);
	return ret ? ret : count_note(r, r->backwards, "times were moved up because a thread's clock ran backwards");
}

static void finish_clock(struct replay *r)
{
	struct model *model = r->model;

	if (model->recording_begin_ns && model->recording_begin_ns < model->clock_begin_ns)
		model->clock_begin_ns = model->recording_begin_ns;
	if (model->clock_begin_ns == UINT64_MAX)
		model->clock_begin_ns = model->clock_end_ns = model->clock_start.monotonic_ns;
	model->clock_end_ns = replay_greater(model->clock_end_ns, model->recording_end_ns);
	for (size_t i = 0; i < model->processes.n && model->recording_begin_ns; i++)
		model->clock_end_ns = replay_greater(model->clock_end_ns, model->processes.v[i].end_ns);
	if (model->clock_start.realtime_ns)
		model->realtime_at_begin_ns = model_realtime_ns(model, model->clock_begin_ns);
}

static int replay_finish(struct replay *r)
{
	int ret = abandon_open_calls(r);

	for (struct process *process = r->all_processes; process; process = process->next)
		requests_end(r, process);
	if (!ret)
		ret = ranks_finish(r);
	if (!ret)
		ret = comms_finish(r);
	handles_finish(r);
	if (!ret)
		ret = static_facts_finish(r);
	if (!ret)
		ret = file_mounts_finish(r);
	file_stripes_finish(r);
	files_finish(r);
	if (!ret)
		ret = finish_totals(r);
	finish_clock(r);
	for (size_t i = 0; i < r->nsinks && !ret; i++) {
		ret = r->sinks[i]->finish(r->sinks[i], r->model);
		if (ret)
			replay_fail(r, ret, "the trace cannot be finished: %s", strerror(-ret));
	}
	return ret;
}

static void replay_deinit(struct replay *r)
{
	async_free(r);
	process_free_all(r);
	static_facts_free(r);
	comms_free(r);
	files_free(r);
	file_mounts_free(r);
	file_stripes_free(r);
	notes_free(r);
	mappings_free(r);
	names_free(r);
	table_set_deinit(&r->set);
	free(r->jobs.v);
	free(r->location_uses.v);
	free(r->rows);
}

int replay_run_relayed(struct spool_reader *spool, struct relay *relay, struct call_sites *sites, struct model *model,
		       struct sink **sinks, size_t nsinks, char *err, size_t err_len)
{
	struct replay r = { .model = model, .sites = sites, .sinks = sinks, .nsinks = nsinks, .err = err, .err_len = err_len,
			    .self = REF_NONE, .fd_paradigm = REF_NONE, .socket_paradigm = REF_NONE,
			    .polled_row = REF_NONE, .ended_row = REF_NONE };
	int ret = 0;

	memset(model, 0, sizeof(*model));
	model->clock_begin_ns = UINT64_MAX;
	for (size_t i = 0; i < nsinks; i++)
		r.followed |= sinks[i]->time != NULL, r.bounded |= sinks[i]->full != NULL;
	table_set_init(&r.set);
	if (sites)
		ret = call_sites_build(sites, model);
	if (!ret)
		ret = feed_spool(&r, spool, relay, replay_one_record);
	if (!ret)
		ret = replay_finish(&r);
	if (ret)
		replay_fail(&r, ret, "the records cannot be replayed: %s", strerror(-ret));
	replay_deinit(&r);
	return ret;
}

int replay_run_with_sites(struct spool_reader *spool, struct call_sites *sites, struct model *model, struct sink **sinks,
			  size_t nsinks, char *err, size_t err_len)
{
	return replay_run_relayed(spool, NULL, sites, model, sinks, nsinks, err, err_len);
}

int replay_run(struct spool_reader *spool, struct model *model, struct sink **sinks, size_t nsinks, char *err, size_t err_len)
{
	return replay_run_with_sites(spool, NULL, model, sinks, nsinks, err, err_len);
}
