/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The main loop of a recording: drains the rings into the spool, follows processes and libraries, stops on time.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/notes.h"
#include "proc/procfs.h"

#define ROUND_MS 20
#define LOSSES_NS 20000000ull   /* how often the kernel is asked for its counters: 15 system calls */
#define BOUND_SLICE_NS 1000000ull       /* with a bound on what is written, rings are drained in turns of this length */
#define DETACH_LIMIT_MS 2000     /* for the kernel to remove its probes; longer only if a probed thread is stopped inside one */
#define SHARED_DETACH_MS 200     /* shared programs do not end with their links, so their end cannot be seen */
#define COSTS_LIMIT_NS 500000000ull     /* that the end of a recording waits for them */
#define FLUSH_NS 1000000000ull  /* what a killed agent may lose */
#define FOLLOWED_FLUSH_NS 200000000ull  /* what a follower is behind */

/* ---- records ---- */

static void add_event(struct recorder *r, uint8_t type, pid_t pid, pid_t other, uint64_t time_ns)
{
	if (r->nevents == r->events_cap) {
		size_t cap = r->events_cap ? r->events_cap * 2 : 64;
		struct process_event *event = realloc(r->events, cap * sizeof(*event));

		if (!event) {
			r->events_dropped++;
			return;
		}
		r->events = event;
		r->events_cap = cap;
	}
	r->events[r->nevents++] = (struct process_event){ type, pid, other, time_ns };
}

void recorder_on_record(void *arg, const struct iop_rec *rec)
{
	struct recorder *r = arg;
	static union object_numbers_room room;  /* 64 KiB are much of a small stack; one thread drains */

	if (probe_costs_take(r->costs, rec))
		return;
	if (!budget_admits(r->budget, r->spool, rec))
		return;
	r->result->records++;
	if (r->overhead)
		overhead_limit_count(r->overhead, rec);
	switch (rec->type) {
	case IOP_REC_FORK:
		if (((const struct iop_rec_fork *)rec)->child_tgid != rec->tgid)
			add_event(r, rec->type, ((const struct iop_rec_fork *)rec)->child_tgid, rec->tgid, rec->time_ns);
		break;
	case IOP_REC_FD:
	case IOP_REC_FILE:
		stripes_take(r->stripes, (const struct iop_rec_fd *)rec);
		break;
	case IOP_REC_TASK_EXIT:
		if (((const struct iop_rec_task_exit *)rec)->group_dead)
			add_event(r, rec->type, rec->tgid, 0, rec->time_ns);
		break;
	case IOP_REC_EXEC:
		add_event(r, rec->type, rec->tgid, ((const struct iop_rec_exec *)rec)->old_tid, rec->time_ns);
		break;
	case IOP_REC_MAP_EXEC:
	case IOP_REC_DEMAND:
		add_event(r, rec->flags & IOP_F_NOT_HELD ? EVENT_NOT_HELD : rec->type, rec->tgid, 0, rec->time_ns);
		break;
	default:
		break;
	}
	spool_writer_append(r->spool, object_numbers_hide(&r->object_numbers, rec, &room));
}

/* If a forked process has executed another program or ended since, its old program needs no probes any more. Returns the time of
 * that event, 0: neither. */
static uint64_t replaced_later(const struct recorder *r, size_t i)
{
	for (size_t k = i + 1; k < r->nevents; k++)
		if (r->events[k].pid == r->events[i].pid && (r->events[k].type == IOP_REC_EXEC ||
							     r->events[k].type == IOP_REC_TASK_EXIT))
			return r->events[k].time_ns;
	return 0;
}

/* Returns the groups that the program begins without. One that has ended gets no bucket: nothing would remove it again. */
static unsigned begins_without(struct recorder *r, const struct process_event *event)
{
	if (!r->overhead || targets_has_ended(r->targets, event->pid, event->time_ns))
		return 0;
	return overhead_limit_begin_program(r->overhead, event->pid, event->time_ns);
}

static void on_fork(struct recorder *r, size_t i)
{
	const struct process_event *fork = &r->events[i];
	uint64_t until_ns = replaced_later(r, i);

	if (until_ns)
		targets_forked_briefly(r->targets, fork->pid, fork->other, fork->time_ns, until_ns);
	else
		targets_forked(r->targets, fork->pid, fork->other, fork->time_ns, begins_without(r, fork));
}

static void on_exec(struct recorder *r, size_t i)
{
	const struct process_event *exec = &r->events[i];
	unsigned off = replaced_later(r, i) ? 0 : begins_without(r, exec);

	demands_forget(r->demands, exec->pid);
	targets_execed(r->targets, exec->pid, exec->other, exec->time_ns, off);
}

static int recorder_by_time(const void *a, const void *b)
{
	const struct process_event *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void do_one(struct recorder *r, size_t i)
{
	struct process_event event = r->events[i];

	switch (event.type) {
	case IOP_REC_FORK: on_fork(r, i); break;
	case IOP_REC_EXEC: on_exec(r, i); break;
	case IOP_REC_DEMAND: demands_place(r->demands, event.pid, event.time_ns); break;
	case EVENT_NOT_HELD: targets_not_held(r->targets, event.pid, event.time_ns); break;
	case IOP_REC_MAP_EXEC: targets_mapped(r->targets, event.pid, event.time_ns); break;
	case IOP_REC_TASK_EXIT:
		demands_forget(r->demands, event.pid);
		targets_ended(r->targets, event.pid, event.time_ns);
		break;
	}
}

/* Events come from several rings. Those that are drained while one is handled are appended, and handled in the next round. */
static void handle_events(struct recorder *r)
{
	size_t n = r->nevents;

	if (!n)
		return;         /* qsort(3) must not get NULL */
	qsort(r->events, n, sizeof(*r->events), recorder_by_time);
	for (size_t i = 0; i < n; i++)
		do_one(r, i);
	r->nevents -= n;
	memmove(r->events, r->events + n, r->nevents * sizeof(*r->events));
}

static void note_losses(struct recorder *r, uint64_t now, bool last)
{
	struct kernel_counts counts = { 0 };
	struct iop_rec_lost rec = { .rec = { .len = sizeof(rec), .type = IOP_REC_LOST, .time_ns = now },
				    .since_ns = r->lost_since_ns };

	if (!last && now - r->lost_since_ns < LOSSES_NS)
		return;
	if (!bpf_side_counts(r->kernel, &counts) && counts.lost > r->lost_noted) {
		rec.lost = counts.lost - r->lost_noted;
		r->lost_noted = counts.lost;
		spool_writer_append(r->spool, &rec.rec);
	}
	r->may_miss_ends |= counts.lost || r->events_dropped;
	r->lost_since_ns = now;
}

/* Processes whose exit record was dropped by a full ring: without this a recording of pids would never end. */
static void end_unreported(struct recorder *r, uint64_t now_ns)
{
	struct iop_rec_task_exit rec = { .rec = { .len = sizeof(rec), .type = IOP_REC_TASK_EXIT, .time_ns = now_ns },
		.group_dead = 1 };
	pid_t pid;

	if (!r->may_miss_ends)
		return;
	while ((pid = targets_next_unreported_end(r->targets, now_ns))) {
		rec.rec.tid = rec.rec.tgid = pid;
		if (r->overhead)
			overhead_limit_count(r->overhead, &rec.rec);
		demands_forget(r->demands, pid);
		targets_ended(r->targets, pid, now_ns);
		r->unreported_ends++;
	}
}

/* Flushed records survive the agent. The STATUS record gives a lower bound for what an agent that is killed later had not
 * written. */
static void flush_spool(struct recorder *r)
{
	struct kernel_counts counts = { 0 };
	struct note note = { 0 };

	spool_writer_flush(r->spool);
	bpf_side_counts(r->kernel, &counts);
	if (r->begun_ns)
		note_addf(&note, "begin_ns", "%llu", (unsigned long long)r->begun_ns);
	note_addf(&note, "records", "%llu", (unsigned long long)r->result->records);
	note_addf(&note, "lost", "%llu", (unsigned long long)counts.lost);
	note_addf(&note, "spool_dropped", "%llu", (unsigned long long)spool_writer_dropped(r->spool));
	if (note.text)
		spool_writer_status(r->spool, IOP_REC_STATUS, monotonic_ns(), note.text);
	note_free(&note);
}

static void flush_when_due(struct recorder *r)
{
	if (monotonic_ns() - r->flushed_ns < (r->options->followed ? FOLLOWED_FLUSH_NS : FLUSH_NS))
		return;
	excluded_note(r->excluded);
	flush_spool(r);
	r->flushed_ns = monotonic_ns();
}

/* Returns the round's time. */
static uint64_t recorder_drain_round(struct recorder *r)
{
	bool bounded = r->bounds.max_bytes || r->bounds.min_free_bytes;
	uint64_t time_ns;
	struct iop_rec rec = { .len = sizeof(rec), .type = IOP_REC_ROUND };

	clock_watch_step(&r->clock, r->spool);          /* before the records of this round, which are later */
	rec.time_ns = time_ns = rings_drain(r->rings, bounded ? BOUND_SLICE_NS : 0);
	note_losses(r, time_ns, r->stopped_ns);
	/* A ROUND record promises that all older records are in the spool. Once the budget has refused one that would be false: a
	 * follower then waits for the END record. */
	if (!budget_refused(r->budget))
		spool_writer_append(r->spool, &rec);
	return time_ns;
}

void recorder_drain(void *arg)
{
	struct recorder *r = arg;

	recorder_drain_round(r);
	flush_when_due(r);
}

void recorder_round(struct recorder *r)
{
	uint64_t time_ns = recorder_drain_round(r);

	handle_events(r);
	end_unreported(r, time_ns);
	targets_step(r->targets);
	if (r->overhead)
		overhead_limit_step(r->overhead, time_ns);
	demands_step(r->demands, time_ns);
	sites_step(r->sites, r->spool);
	probe_costs_step(r->costs, r->spool, false);
	stripes_step(r->stripes, r->spool);
}

/* ---- the loop ---- */

/* by: keyword for STOPPED_BY in archive and summary. */
static void recorder_stop(struct recorder *r, const char *by, const char *reason)
{
	r->stop = true;
	r->stopped_by = by;
	r->reason = reason;
}

static void recorder_reap(struct recorder *r)
{
	if (!r->launched || waitpid(r->launch.pid, &r->result->wait_status, WNOHANG) != r->launch.pid)
		return;
	r->result->command_ended = true;
	recorder_stop(r, "end", "the launched program ended");
}

/* ---- programs that wait for their probes ---- */

/* Its fork and exec records are already in the rings: those are processed first. Probes on demand are placed too: a program may
 * begin operations right after its first call of MPI-IO. */
static void place_probes(struct recorder *r, const struct hold_notice *notice)
{
	pid_t pid = notice->id.pid_tgid >> 32;

	recorder_round(r);
	if (notice->id.reason == IOP_HOLD_DIRECT)
		targets_place_withheld(r->targets, pid);
	else if (targets_held(r->targets, pid, notice->since_ns))
		demands_placed(r->demands, pid, 0);
	sites_prepare(r->sites, pid);
	hold_server_release(r->server, &notice->id);
}

static void on_hold_ended(struct recorder *r, const struct hold_notice *notice)
{
	pid_t pid = notice->id.pid_tgid >> 32;

	if (notice->id.reason == IOP_HOLD_NEW_CODE)
		targets_released(r->targets, pid, notice->since_ns, notice->gave_up_ns);
	else if (notice->id.reason == IOP_HOLD_DIRECT && notice->gave_up_ns)
		targets_waited_in_vain(r->targets, pid, notice->since_ns, notice->gave_up_ns);
}

static void on_notices(struct recorder *r)
{
	struct hold_notice notice;

	while (!r->stop && hold_server_next(r->server, &notice)) {
		switch (notice.type) {
		case HOLD_BEGAN: place_probes(r, &notice); break;
		case HOLD_ENDED: on_hold_ended(r, &notice); break;
		case HOLD_SERVER_GONE: recorder_stop(r, "fault", "its hold server was killed: no more probes can be placed"); break;
		}
	}
}

/* The terminal's interrupt reaches the launched program too, which handles it: the first one is ignored here. */
static void on_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			recorder_reap(r);
		else if (info.ssi_signo == SIGINT && r->launched && !r->interrupts++)
			continue;
		else
			recorder_stop(r, "signal", r->options->job && info.ssi_signo == SIGTERM ? "the end of the job was "
				"reported" : "interrupted");
	}
}

/* ---- a job: its processes come and go with its steps ---- */

static void rescan_job(struct recorder *r)
{
	pid_t *pids;
	size_t n;

	if (recorder_find_job_processes(r, &pids, &n))
		return;
	r->late += recorder_attach_job_processes(r, pids, n);
	free(pids);
}

static void check_unread(struct recorder *r, uint64_t now_ns)
{
	struct kernel_counts counts;

	if (now_ns - r->unread_checked_ns < LOSSES_NS)
		return;
	r->unread_checked_ns = now_ns;
	if (bpf_side_counts(r->kernel, &counts) || counts.unread_environments == r->unread_environments)
		return;
	r->unread_environments = counts.unread_environments;
	rescan_job(r);
}

static void check_job(struct recorder *r)
{
	uint64_t now = monotonic_ns(), limit_ns = r->options->idle_limit_s * 1e9;

	check_unread(r, now);
	if (targets_running(r->targets) || !r->empty_since_ns)
		r->empty_since_ns = now;
	if (!limit_ns || now - r->empty_since_ns < limit_ns)
		return;
	recorder_stop(r, "idle-limit", "the job had no process for the idle limit");
	r->remark = "no end of the job was reported: its processes were gone for the idle limit";
}

static void check_end(struct recorder *r)
{
	if (r->options->job)
		check_job(r);
	else if (!r->launched && !targets_running(r->targets))
		recorder_stop(r, "end", "all processes ended");
}

/* Overrides another reason to stop in the same round: the records that the limit refused are missing in any case. */
static void check_bounds(struct recorder *r)
{
	const char *reason, *bound = budget_reached(r->budget, &reason);

	if (bound)
		recorder_stop(r, bound, reason);
}

static void recorder_loop(struct recorder *r)
{
	uint64_t begin_ns = monotonic_ns();
	uint64_t limit_ns = r->options->duration_s > 0 ? (uint64_t)(r->options->duration_s * 1e9) : 0;

	if (r->options->job && !r->options->job_must_run)
		rescan_job(r);          /* processes that were started before */
	flush_spool(r);                 /* the recorded processes and the tables are in the file from the start */
	r->flushed_ns = monotonic_ns();
	while (!r->stop) {
		struct epoll_event events[4];

		epoll_wait(r->epoll_fd, events, 4, ROUND_MS);
		on_notices(r);
		on_signals(r);
		recorder_round(r);
		flush_when_due(r);
		check_end(r);
		if (limit_ns && monotonic_ns() - begin_ns >= limit_ns)
			recorder_stop(r, "duration", "the duration is over");
		budget_step(r->budget, monotonic_ns());
		check_bounds(r);
	}
}

/* ---- end ---- */

/* A short program may have ended before its recording's costs were known. */
static void finish_costs(struct recorder *r)
{
	uint64_t until_ns = monotonic_ns() + COSTS_LIMIT_NS;

	while (!probe_costs_step(r->costs, r->spool, true) && monotonic_ns() < until_ns) {
		poll(NULL, 0, 1);
		recorder_round(r);
	}
	probe_costs_stop(r->costs);
}

/* Detaches first, so that the last rounds find an end. */
static void recorder_finish(struct recorder *r)
{
	finish_costs(r);
	if (targets_running(r->targets))
		links_guard(r->server);         /* if it fails, calls in flight stay as they are: SAFETY.md */
	bpf_side_stop(r->kernel);
	r->stopped_ns = monotonic_ns();
	recorder_round(r);
	while (r->nevents)        /* drained while the others were dealt with; no more will come */
		handle_events(r);
	targets_finish(r->targets, r->stopped_ns);
	if (r->overhead)
		overhead_limit_finish(r->overhead);
	excluded_note(r->excluded);
	check_bounds(r);
	sites_stop(r->sites, r->spool);
	stripes_finish(r->stripes, r->spool);
	recorder_note_end(r);
	r->result->stopped_by = r->stopped_by;
	snprintf(r->result->reason, sizeof(r->result->reason), "%s", r->reason ? r->reason : "");
	if (r->raised)
		setpriority(PRIO_PROCESS, 0, r->old_nice);      /* no program waits for the archive */
}

/* Ends the hold server, and with it the links that are left. */
static void *leave_kernel(void *arg)
{
	struct recorder *r = arg;
	uint32_t ids[KERNEL_PROGRAMS];
	size_t n = bpf_side_program_ids(r->kernel, ids);

	hold_server_leave(r->server, &r->result->guarding);
	bpf_side_destroy(r->kernel);
	links_wait_gone(ids, n, DETACH_LIMIT_MS);
	return NULL;
}

/* The slot is closed: unwinders are no longer served. So what places return probes goes first. Returns when the probes are removed,
 * not merely requested to be. While the kernel removes the last ones, the call sites get their names. */
static void detach_all(struct recorder *r, bool symbolize)
{
	uint32_t ids[KERNEL_PROGRAMS];
	pthread_t leaving;
	bool threaded;
	size_t n;

	if (r->server)
		links_close_calls(r->server);
	targets_detach_calls(r->targets);
	if (r->server)
		links_retire_calls(r->server, r->kernel);
	n = bpf_side_close_call_programs(r->kernel, ids);
	if (n)
		links_wait_gone(ids, n, DETACH_LIMIT_MS);
	else
		poll(NULL, 0, SHARED_DETACH_MS);
	targets_destroy(r->targets);
	threaded = symbolize && r->sites && !pthread_create(&leaving, NULL, leave_kernel, r);
	if (!threaded)
		leave_kernel(r);
	if (symbolize)
		sites_symbolize(r->sites, r->spool);
	if (threaded)
		pthread_join(leaving, NULL);
}

static int close_all(struct recorder *r, int err)
{
	int spool_err;

	overhead_limit_destroy(r->overhead);
	probe_costs_destroy(r->costs);
	object_numbers_deinit(&r->object_numbers);
	excluded_destroy(r->excluded);
	demands_destroy(r->demands);
	stripes_destroy(r->stripes);
	sites_stop(r->sites, NULL);
	detach_all(r, !err);
	sites_destroy(r->sites);
	parse_pool_destroy(r->parsers);
	rings_destroy(r->rings);
	budget_destroy(r->budget);
	spool_err = spool_writer_destroy(r->spool);
	clock_watch_close(&r->clock);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	free(r->events);
	if (!err && spool_err) {
		snprintf(r->err, r->err_len, "cannot write %s: %s", r->options->spool_path, strerror(-spool_err));
		err = spool_err;
	}
	return err;
}

bool recorder_stopped_early(const struct recorder_result *result)
{
	static const char *const words[] = { "max-size", "min-free", "max-rate", "duration" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (result->stopped_by && !strcmp(result->stopped_by, words[i]))
			return true;
	return false;
}

int recorder_run(const struct recorder_options *options, struct recorder_result *result, char *err_text, size_t err_len)
{
	struct recorder r = { .options = options, .result = result, .signal_fd = -1, .epoll_fd = -1, .clock = { .fd = -1 },
			      .err = err_text, .err_len = err_len };
	int err;

	r.spool = options->spool;
	if (options->prepared)
		r.prepared = *options->prepared;
	r.kernel = r.prepared.kernel;
	r.server = r.prepared.server;
	*result = (struct recorder_result){ 0 };
	err_text[0] = 0;
	err = recorder_open(&r);
	if (!err)
		err = recorder_start_targets(&r);
	if (!err) {
		result->command_pid = r.launched ? r.launch.pid : 0;
		probe_costs_begin(r.costs, r.kernel, r.server);
		recorder_loop(&r);
		recorder_finish(&r);
	} else if (r.launched) {
		launch_cancel(&r.launch);
	}
	return close_all(&r, err);
}
