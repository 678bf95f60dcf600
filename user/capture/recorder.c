/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The main loop of a recording: drain the rings into the spool, follow processes and libraries, stop when it is time.
 */
#include "capture/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/ceiling.h"
#include "capture/clock.h"
#include "capture/closer.h"
#include "capture/demand.h"
#include "capture/launch.h"
#include "capture/left_out.h"
#include "capture/notes.h"
#include "capture/procfs.h"
#include "capture/responder.h"
#include "capture/rings.h"
#include "capture/targets.h"
#include "elf/symbols.h"

#define LAUNCH_NICE (-20)       /* launched programs wait for us, perhaps on the only processor */
#define ROUND_MS 20
#define FLUSH_NS 1000000000ull  /* what a killed agent may lose */
#define HOLD_LIMIT_NS 2000000000ull
#define DEFAULT_INTERPRETER "/lib64/ld-linux-x86-64.so.2"

/* What a drained record asks to be done; done after the round, when the rings are empty. */
struct news { uint8_t type; pid_t pid, old_tid; uint64_t time_ns; };    /* old_tid: of an exec */

struct recorder {
	const struct recorder_options *options;
	struct recorder_result *result;
	struct kernel_side *kernel;
	struct responder *responder;
	struct rings *rings;
	struct closer *closer;
	struct targets *targets;
	struct ceiling *ceiling;        /* NULL: none */
	struct left_out *left_out;
	struct demands *demands;
	struct spool_writer *spool;
	struct launch launch;
	struct recorder_prepared prepared;
	bool launched, raised, stop;
	uint64_t empty_since_ns, unread_environments;   /* of a job */
	size_t late;                    /* processes of a job that ran already, though it was awaited */
	unsigned interrupts;
	int epoll_fd, signal_fd, old_nice;
	sigset_t old_mask;
	struct news *news;
	size_t nnews, news_cap;
	uint64_t faults_left_out;       /* on mapped files that the filter wants none of */
	uint64_t lost_noted, lost_since_ns, end_ns;
	const char *reason, *remark;    /* why it ended; what the user should know of that */
	char *err;
	size_t err_len;
};

static int fail(struct recorder *r, int err, const char *what)
{
	if (!r->err[0])
		snprintf(r->err, r->err_len, "%s: %s", what, strerror(-err));
	return err;
}

/* ---- records ---- */

static void add_news(struct recorder *r, uint8_t type, pid_t pid, pid_t old_tid, uint64_t time_ns)
{
	if (r->nnews == r->news_cap) {
		size_t cap = r->news_cap ? r->news_cap * 2 : 64;
		struct news *news = realloc(r->news, cap * sizeof(*news));

		if (!news)
			return;
		r->news = news;
		r->news_cap = cap;
	}
	r->news[r->nnews++] = (struct news){ type, pid, old_tid, time_ns };
}

static void on_record(void *arg, const struct iop_rec *rec)
{
	struct recorder *r = arg;

	r->result->records++;
	if (r->ceiling)
		ceiling_count(r->ceiling, rec);
	switch (rec->type) {
	case IOP_REC_FORK:
		if (((const struct iop_rec_fork *)rec)->child_tgid != rec->tgid)
			add_news(r, rec->type, ((const struct iop_rec_fork *)rec)->child_tgid, 0, rec->time_ns);
		break;
	case IOP_REC_TASK_EXIT:
		if (((const struct iop_rec_task_exit *)rec)->group_dead)
			add_news(r, rec->type, rec->tgid, 0, rec->time_ns);
		break;
	case IOP_REC_EXEC:
		add_news(r, rec->type, rec->tgid, ((const struct iop_rec_exec *)rec)->old_tid, rec->time_ns);
		break;
	case IOP_REC_MAP_EXEC:
	case IOP_REC_DEMAND:
		add_news(r, rec->type, rec->tgid, 0, rec->time_ns);
		break;
	default:
		break;
	}
	spool_writer_append(r->spool, rec);
}

/* A forked process that has become another program meanwhile has nothing left to be probed as what it was. */
static bool execed_later(const struct recorder *r, size_t i)
{
	for (size_t k = i + 1; k < r->nnews; k++)
		if (r->news[k].pid == r->news[i].pid && (r->news[k].type == IOP_REC_EXEC || r->news[k].type == IOP_REC_TASK_EXIT))
			return true;
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct news *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* They come from several rings. */
static void do_news(struct recorder *r)
{
	qsort(r->news, r->nnews, sizeof(*r->news), by_time);
	for (size_t i = 0; i < r->nnews; i++) {
		struct news news = r->news[i];

		if (news.type == IOP_REC_FORK && execed_later(r, i))
			continue;

		switch (news.type) {
		case IOP_REC_FORK: targets_forked(r->targets, news.pid, news.time_ns); break;
		case IOP_REC_EXEC:
			demands_forget(r->demands, news.pid);
			targets_execed(r->targets, news.pid, news.old_tid, news.time_ns);
			break;
		case IOP_REC_DEMAND: demands_place(r->demands, news.pid, news.time_ns); break;
		case IOP_REC_MAP_EXEC: targets_mapped(r->targets, news.pid, news.time_ns); break;
		case IOP_REC_TASK_EXIT:
			demands_forget(r->demands, news.pid);
			targets_ended(r->targets, news.pid, news.time_ns);
			break;
		}
	}
	r->nnews = 0;
}

static void note_losses(struct recorder *r, uint64_t now)
{
	struct kernel_counts counts;
	struct iop_rec_lost rec = { .rec = { .len = sizeof(rec), .type = IOP_REC_LOST, .time_ns = now }, .since_ns = r->lost_since_ns };

	if (!kernel_side_counts(r->kernel, &counts) && counts.lost > r->lost_noted) {
		rec.lost = counts.lost - r->lost_noted;
		r->lost_noted = counts.lost;
		spool_writer_append(r->spool, &rec.rec);
	}
	r->lost_since_ns = now;
}

static void round_of_records(struct recorder *r)
{
	uint64_t time_ns = rings_drain(r->rings);
	struct iop_rec rec = { .len = sizeof(rec), .type = IOP_REC_ROUND, .time_ns = time_ns };

	note_losses(r, time_ns);
	spool_writer_append(r->spool, &rec);
	do_news(r);
	targets_step(r->targets);
	if (r->ceiling)
		ceiling_step(r->ceiling, time_ns);
	demands_step(r->demands, time_ns);
}

/* Launched processes wait with their libraries mapped. Their fork and exec records are in the rings already: those come first. */
static void on_waiting(struct recorder *r)
{
	uint64_t pid_tgid;

	while ((pid_tgid = responder_next(r->responder))) {
		round_of_records(r);
		targets_mapped(r->targets, pid_tgid >> 32, 0);
		responder_release(r->responder, pid_tgid);
	}
}

/* ---- begin ---- */

static int watch(struct recorder *r, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_signals(struct recorder *r)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->signal_fd < 0 || r->epoll_fd < 0)
		return -errno;
	return watch(r, r->signal_fd);
}

static int load_kernel(const struct recorder_options *options, struct kernel_side **kernel, char *err_text, size_t err_len)
{
	struct kernel_options wanted = options->kernel;

	wanted.filter = options->filter;
	wanted.users_rights_only = options->only_of != 0;
	wanted.recognise = options->job != NULL;
	wanted.hold_limit_ns = options->command || options->job ? HOLD_LIMIT_NS : 0;
	return kernel_side_create(kernel, options->set, &wanted, err_text, err_len);
}

int recorder_prepare(const struct recorder_options *options, struct recorder_prepared *prepared, char *err_text, size_t err_len)
{
	int err = load_kernel(options, &prepared->kernel, err_text, err_len);

	if (err)
		return err;
	err = closer_create(&prepared->closer);
	if (!err && options->max_overhead_percent > 0) {
		err = calibrate_probe_cost(prepared->kernel, prepared->closer, &prepared->cost);
		prepared->measured = !err;
	}
	if (!err || err == -EOPNOTSUPP)
		return 0;
	snprintf(err_text, err_len, "cannot measure what probes cost: %s", strerror(-err));
	recorder_discard(prepared);
	return err;
}

void recorder_discard(struct recorder_prepared *prepared)
{
	closer_destroy(prepared->closer);
	kernel_side_destroy(prepared->kernel);
	*prepared = (struct recorder_prepared){ 0 };
}

/* Nothing else touches targets and spool meanwhile. */
static void *plan_libraries(void *arg)
{
	struct recorder *r = arg;

	for (size_t i = 0; i < r->options->npids; i++)
		targets_plan(r->targets, r->options->pids[i]);
	return NULL;
}

/* The verifier takes its time, in which libraries can be read. */
static int load_programs(struct recorder *r)
{
	pthread_t planning;
	bool threaded = r->options->npids && !pthread_create(&planning, NULL, plan_libraries, r);
	int err = load_kernel(r->options, &r->kernel, r->err, r->err_len);

	if (threaded)
		pthread_join(planning, NULL);
	return err;
}

static int open_kernel(struct recorder *r)
{
	int err = r->closer ? 0 : closer_create(&r->closer);

	if (!err)
		err = targets_create(&r->targets, r->options->set, r->options->filter, r->closer, r->spool);
	if (err)
		return fail(r, err, "cannot begin");
	err = r->kernel ? 0 : load_programs(r);
	if (err)
		return err;
	targets_begin(r->targets, r->kernel);
	if (!kernel_side_follows_uring(r->kernel))
		note_missing(r->spool, "POSIX", "io_uring", "*", "its tracepoints are missing or tell too little (Linux 6.0 is needed)");
	err = responder_create(&r->responder, r->kernel);
	if (!err)
		err = rings_create(&r->rings, r->kernel, on_record, r);
	if (!err)
		err = left_out_create(&r->left_out, r->options->filter, r->kernel, r->options->set, r->spool);
	if (!err)
		err = demands_create(&r->demands, r->kernel, r->targets, r->options->set, r->spool);
	if (!err)
		err = watch(r, responder_probes_fd(r->responder));
	if (!err)
		err = watch(r, rings_poll_fd(r->rings));
	return err ? fail(r, err, "cannot set up the rings") : 0;
}

static int open_ceiling(struct recorder *r)
{
	struct probe_cost cost = r->prepared.cost;
	int err = 0;

	if (!(r->options->max_overhead_percent > 0) || (r->options->prepared && !r->prepared.measured))
		return 0;
	if (!r->options->prepared)
		err = calibrate_probe_cost(r->kernel, r->closer, &cost);
	if (!err)
		err = ceiling_create(&r->ceiling, r->options->max_overhead_percent, r->options->set, r->targets, &cost, r->spool);
	return err && err != -EOPNOTSUPP ? fail(r, err, "cannot measure what probes cost") : 0;
}

static int open_spool(struct recorder *r)
{
	int err = r->spool ? 0 : spool_writer_create(&r->spool, r->options->spool_path);
	if (err) {
		snprintf(r->err, r->err_len, "cannot create %s: %s", r->options->spool_path, strerror(-err));
		return err;
	}
	note_host(r->spool, r->options->host, r->options->shared_mounts, r->options->nshared_mounts, r->options->argc, r->options->argv);
	note_tables(r->spool, r->options->set);
	return 0;
}

/* ---- targets ---- */

/* With rights of its own beyond the user's, its folder in /proc is root's. */
static bool may_attach(const struct recorder *r, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !r->options->only_of || (!stat(path, &st) && st.st_uid == r->options->only_of);
}

/* What descends from a process; once more if that brought something new, which may have forked before it was taken. */
static void attach_descendants(struct recorder *r, pid_t pid)
{
	pid_t *descendants;
	size_t n, before;

	for (int pass = 0; pass < 16; pass++) {
		before = targets_count(r->targets).processes;
		if (proc_descendants_read(pid, &descendants, &n))
			return;
		targets_expect(r->targets, n);
		for (size_t i = 0; i < n; i++)  /* one that has ended meanwhile is no loss */
			if (may_attach(r, descendants[i]) && !targets_attach(r->targets, descendants[i]))
				demands_place(r->demands, descendants[i], 0);
		free(descendants);
		if (targets_count(r->targets).processes == before)
			return;
	}
}

/* Only the named process must exist. */
static int attach_tree(struct recorder *r, pid_t pid)
{
	pid_t *descendants;
	size_t n;
	int err;

	if (!proc_descendants_read(pid, &descendants, &n)) {
		targets_expect(r->targets, n + 1);
		free(descendants);
	}
	err = may_attach(r, pid) ? targets_attach(r->targets, pid) : -EPERM;
	if (err) {
		snprintf(r->err, r->err_len, err == -ESRCH ? "cannot attach to process %d: it does not exist or has ended" :
			 "cannot attach to process %d: %s", pid, strerror(-err));
		return err;
	}
	demands_place(r->demands, pid, 0);
	attach_descendants(r, pid);
	return 0;
}

static int attach_running(struct recorder *r)
{
	targets_expect(r->targets, r->options->npids);
	for (size_t i = 0; i < r->options->npids; i++) {
		int err = attach_tree(r, r->options->pids[i]);

		if (err)
			return err;
	}
	return 0;
}

static const char *interpreter_of(const char *path, char *buf, size_t len)
{
	struct elf_file *file;
	const char *interpreter;

	snprintf(buf, len, "%s", DEFAULT_INTERPRETER);
	if (elf_file_open(&file, path))
		return buf;
	interpreter = elf_file_interpreter(file);
	if (interpreter)
		snprintf(buf, len, "%s", interpreter);
	elf_file_destroy(file);
	return buf;
}

/* New programs wait for their probes, perhaps on our only processor: without the privilege they wait longer. */
static void hold_programs(struct recorder *r, const char *interpreter)
{
	r->old_nice = getpriority(PRIO_PROCESS, 0);
	r->raised = !setpriority(PRIO_PROCESS, 0, LAUNCH_NICE);
	if (targets_hold(r->targets, interpreter))
		note_missing(r->spool, "*", interpreter, "_dl_debug_state", "new programs cannot be held until their probes are in place");
}

static int launch_command(struct recorder *r)
{
	char path[4096], interpreter[4096];
	int err;

	if (!launch_find(r->options->command[0], path, sizeof(path))) {
		snprintf(r->err, r->err_len, "cannot run %s: command not found", r->options->command[0]);
		return -ENOENT;
	}
	err = launch_prepare(&r->launch, r->options->command);
	if (err)
		return fail(r, err, "cannot fork");
	kernel_side_take_at_exec(r->kernel, r->launch.pid);
	hold_programs(r, interpreter_of(path, interpreter, sizeof(interpreter)));       /* after the fork */
	targets_prepare_executable(r->targets, r->launch.pid, path);
	r->launched = true;
	return 0;
}

static int find_members(struct recorder *r, pid_t **pids, size_t *n)
{
	int err = members_find(r->options->job, pids, n);

	if (err == -EPERM)
		snprintf(r->err, r->err_len, "cannot record job %s: processes of several users claim to belong to it", r->options->job->job);
	else if (err)
		fail(r, err, "cannot look for the job's processes");
	return err;
}

/* Those that run already, or whose exec could not be judged. One that has ended meanwhile is no loss. Returns how many were new. */
static size_t attach_members(struct recorder *r, const pid_t *pids, size_t n)
{
	size_t before = targets_count(r->targets).processes;

	for (size_t i = 0; i < n; i++)
		if (may_attach(r, pids[i]) && !targets_attach(r->targets, pids[i])) {
			demands_place(r->demands, pids[i], 0);
			attach_descendants(r, pids[i]);
		}
	return targets_count(r->targets).processes - before;
}

/* Whoever starts before this is found in /proc afterwards, whoever starts later by the kernel side. */
static int await_job(struct recorder *r)
{
	struct iop_awaited awaited;

	members_awaited(r->options->job, &awaited);
	kernel_side_await(r->kernel, &awaited);
	hold_programs(r, DEFAULT_INTERPRETER);
	return kernel_side_attach(r->kernel, r->err, r->err_len);
}

static int attach_job(struct recorder *r)
{
	pid_t *pids;
	size_t n;
	int err = find_members(r, &pids, &n);   /* the owner too */

	if (!err && !n) {
		snprintf(r->err, r->err_len, "cannot record job %s: no process on this node belongs to it", r->options->job->job);
		err = -ESRCH;
	}
	if (err)
		return err;
	err = await_job(r);
	if (!err)
		attach_members(r, pids, n);
	free(pids);
	return err;
}

static int start_recording(struct recorder *r)
{
	int err;

	if (r->options->job)
		return r->options->job_must_run ? attach_job(r) : await_job(r);
	err = kernel_side_attach(r->kernel, r->err, r->err_len);
	if (!err)
		err = r->options->command ? launch_command(r) : attach_running(r);
	return err;
}

static int start_targets(struct recorder *r)
{
	int err = start_recording(r);

	if (err)
		return err;
	r->options->ready(r->options->ready_arg, targets_running(r->targets), targets_count(r->targets).probes);
	if (!r->launched)
		return 0;
	err = launch_go(&r->launch);
	if (err) {
		r->launched = false;
		snprintf(r->err, r->err_len, "cannot run %s: %s", r->options->command[0], strerror(-err));
	}
	return err;
}

/* ---- the loop ---- */

static void stop(struct recorder *r, const char *reason)
{
	r->stop = true;
	r->reason = reason;
}

static void reap(struct recorder *r)
{
	siginfo_t info = { 0 };

	/* Looked at without taking it: a ptrace stop is the responder's. */
	if (!r->launched || waitid(P_PID, r->launch.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != r->launch.pid ||
	    info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
		return;
	r->result->command_ended = waitpid(r->launch.pid, &r->result->wait_status, 0) == r->launch.pid;
	stop(r, "the launched program ended");
}

/* The terminal's interrupt reaches the launched program too: the first one is its own affair. */
static void on_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(r);
		else if (info.ssi_signo == SIGINT && r->launched && !r->interrupts++)
			continue;
		else
			stop(r, r->options->job && info.ssi_signo == SIGTERM ? "told that the job ended" : "interrupted");
	}
}

/* ---- a job: its processes come and go by steps ---- */

static void rescan_job(struct recorder *r)
{
	pid_t *pids;
	size_t n;

	if (find_members(r, &pids, &n))
		return;
	r->late += attach_members(r, pids, n);
	free(pids);
}

static void check_unread(struct recorder *r)
{
	struct kernel_counts counts;

	if (kernel_side_counts(r->kernel, &counts) || counts.unread_environments == r->unread_environments)
		return;
	r->unread_environments = counts.unread_environments;
	rescan_job(r);
}

static void check_job(struct recorder *r)
{
	uint64_t now = monotonic_ns(), limit_ns = r->options->idle_limit_s * 1e9;

	check_unread(r);
	if (targets_running(r->targets) || !r->empty_since_ns)
		r->empty_since_ns = now;
	if (!limit_ns || now - r->empty_since_ns < limit_ns)
		return;
	stop(r, "the job's processes were gone for the idle limit");
	r->remark = "nobody said that the job ended: its processes were gone for the idle limit";
}

static void check_end(struct recorder *r)
{
	if (r->options->job)
		check_job(r);
	else if (!r->launched && !targets_running(r->targets))
		stop(r, "all processes ended");
}

static void loop(struct recorder *r)
{
	uint64_t begin_ns = monotonic_ns(), flushed_ns = begin_ns;
	uint64_t limit_ns = r->options->duration_s > 0 ? (uint64_t)(r->options->duration_s * 1e9) : 0;

	if (r->options->job && !r->options->job_must_run)
		rescan_job(r);          /* what began before we did */
	spool_writer_flush(r->spool);   /* who is recorded, and by what tables, is there from the start */
	while (!r->stop) {
		struct epoll_event events[4];

		epoll_wait(r->epoll_fd, events, 4, ROUND_MS);
		on_waiting(r);
		on_signals(r);
		round_of_records(r);
		if (monotonic_ns() - flushed_ns >= FLUSH_NS) {
			left_out_note(r->left_out);
			spool_writer_flush(r->spool);
			flushed_ns = monotonic_ns();
		}
		check_end(r);
		if (limit_ns && monotonic_ns() - begin_ns >= limit_ns)
			stop(r, "the duration is over");
	}
}

/* ---- end ---- */

static void note_mapped(void *arg, const struct mapped_file *file)
{
	struct recorder *r = arg;
	struct note note = { 0 };

	if (file->left_out) {
		r->faults_left_out += file->read_faults + file->write_faults;
		return;
	}
	note_addf(&note, "dev", "%llu", (unsigned long long)file->dev);
	note_addf(&note, "ino", "%llu", (unsigned long long)file->ino);
	note_addf(&note, "read_faults", "%llu", (unsigned long long)file->read_faults);
	note_addf(&note, "write_faults", "%llu", (unsigned long long)file->write_faults);
	note_addf(&note, "written_back", "%llu", (unsigned long long)file->written_back);
	spool_writer_text(r->spool, IOP_REC_MAPPED, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

static void note_end(struct recorder *r)
{
	struct kernel_counts counts = { 0 };
	struct targets_counts targets = targets_count(r->targets);
	struct note note = { 0 };
	struct clock_reading clock;

	note_addf(&note, "mapped_faults_missed", "%llu", (unsigned long long)kernel_side_mapped_files(r->kernel, note_mapped, r));
	note_addf(&note, "mapped_faults_left_out", "%llu", (unsigned long long)r->faults_left_out);
	clock_read(&clock);
	kernel_side_counts(r->kernel, &counts);
	r->result->lost = counts.lost;
	r->result->processes = targets.processes;
	note_add(&note, "reason", r->reason ? r->reason : "failed");
	if (r->remark)
		note_add(&note, "remark", r->remark);
	note_addf(&note, "records", "%llu", (unsigned long long)r->result->records);
	note_addf(&note, "lost", "%llu", (unsigned long long)counts.lost);
	note_addf(&note, "untracked_threads", "%llu", (unsigned long long)counts.untracked);
	note_addf(&note, "missed_programs", "%llu", (unsigned long long)counts.missed_programs);
	note_addf(&note, "unwinds", "%llu", (unsigned long long)counts.unwinds);
	note_addf(&note, "unwinds_late", "%llu", (unsigned long long)counts.unwinds_late);
	note_addf(&note, "returns_failed", "%llu", (unsigned long long)responder_failed(r->responder));
	note_addf(&note, "holds_late", "%llu", (unsigned long long)counts.holds_late);
	note_addf(&note, "late", "%zu", r->late);
	note_addf(&note, "privileged", "%llu", (unsigned long long)counts.privileged);
	note_addf(&note, "unread_environments", "%llu", (unsigned long long)counts.unread_environments);
	note_addf(&note, "spool_dropped", "%llu", (unsigned long long)spool_writer_dropped(r->spool));
	note_addf(&note, "device", "%d", r->options->kernel.device);
	note_addf(&note, "waits_not_followed", "%llu", (unsigned long long)counts.waits_not_followed);
	note_addf(&note, "processes", "%zu", targets.processes);
	note_addf(&note, "processes_running", "%zu", targets_running(r->targets));
	note_addf(&note, "probes", "%zu", targets.probes);
	note_addf(&note, "probes_moved", "%zu", targets.moved);
	note_addf(&note, "probes_single_stepped", "%zu", targets.single_stepped);
	clock_note(&note, &clock);
	note_add(&note, "method", attach_method_name(kernel_side_method(r->kernel)));
	spool_writer_text(r->spool, IOP_REC_END, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

/* Detaches first, so that the last rounds find an end. */
static void finish(struct recorder *r)
{
	kernel_side_detach_syscalls(r->kernel);
	round_of_records(r);
	ceiling_destroy(r->ceiling);
	r->ceiling = NULL;
	left_out_note(r->left_out);
	note_end(r);
	if (r->raised)
		setpriority(PRIO_PROCESS, 0, r->old_nice);      /* nobody waits for the archive */
}

static int close_all(struct recorder *r, int err)
{
	int spool_err;

	ceiling_destroy(r->ceiling);
	left_out_destroy(r->left_out);
	demands_destroy(r->demands);
	targets_destroy(r->targets);
	closer_destroy(r->closer);
	rings_destroy(r->rings);
	responder_destroy(r->responder);
	kernel_side_destroy(r->kernel);
	spool_err = spool_writer_destroy(r->spool);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	free(r->news);
	if (!err && spool_err) {
		snprintf(r->err, r->err_len, "cannot write %s: %s", r->options->spool_path, strerror(-spool_err));
		err = spool_err;
	}
	return err;
}

int recorder_run(const struct recorder_options *options, struct recorder_result *result, char *err_text, size_t err_len)
{
	struct recorder r = { .options = options, .result = result, .signal_fd = -1, .epoll_fd = -1, .err = err_text, .err_len = err_len };
	int err;

	r.spool = options->spool;
	if (options->prepared)
		r.prepared = *options->prepared;
	r.kernel = r.prepared.kernel;
	r.closer = r.prepared.closer;
	err = open_signals(&r);
	*result = (struct recorder_result){ 0 };
	err_text[0] = 0;
	if (!err)
		err = open_spool(&r);
	if (!err)
		err = open_kernel(&r);
	if (!err)
		err = open_ceiling(&r);
	if (!err)
		err = start_targets(&r);
	if (!err) {
		loop(&r);
		finish(&r);
	} else if (r.launched) {
		launch_cancel(&r.launch);
	}
	return close_all(&r, err);
}
