/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The beginning of a recording: loads the programs, opens rings and spool, then includes running processes, a launched program or a
 * batch job.
 */
#include "capture/recorder_internal.h"

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

#include "bpf/load.h"
#include "capture/notes.h"
#include "proc/procfs.h"

#define LAUNCH_NICE (-20)       /* launched programs wait for the agent, perhaps on the only processor */
#define MAX_SETS 8              /* attached on a node, before another one needs --force; root may set another number */
#define MAX_SETS_VARIABLE "IOPROBE_MAX_SETS"
#define HOLD_LIMIT_NS 2000000000ull
#define DEFAULT_INTERPRETER "/lib64/ld-linux-x86-64.so.2"

static int recorder_begin_fail(struct recorder *r, int err, const char *what)
{
	if (!r->err[0])
		snprintf(r->err, r->err_len, "%s: %s", what, strerror(-err));
	return err;
}

/* ---- resources of a recording ---- */

static int recorder_begin_watch(struct recorder *r, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int recorder_begin_open_signals(struct recorder *r)
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
	return recorder_begin_watch(r, r->signal_fd);
}

static struct kernel_options kernel_options(const struct recorder_options *options)
{
	struct kernel_options wanted = { .programs = options->kernel };

	wanted.programs.filter = options->filter;
	wanted.users_rights_only = options->only_of != 0;
	wanted.programs.recognise = options->job != NULL;
	wanted.hold_limit_ns = options->command || options->job ? HOLD_LIMIT_NS : 0;
	return wanted;
}

static int load_kernel(const struct recorder_options *options, size_t parts, struct bpf_side **kernel, char *err_text,
		       size_t err_len)
{
	struct kernel_options wanted = kernel_options(options);

	wanted.programs.load_parts = parts;
	return bpf_side_create(kernel, options->set, &wanted, err_text, err_len);
}

static int open_shared(const struct recorder_options *options, struct programs *programs, uint32_t id, struct bpf_side **kernel,
		       char *err_text, size_t err_len)
{
	struct kernel_options wanted = kernel_options(options);
	int err = bpf_side_open(kernel, programs, id, &wanted);

	if (!err)
		return 0;
	snprintf(err_text, err_len, "cannot open slot %u of the shared BPF programs: %s", id & IOP_RECORDING_SLOT, strerror(-err));
	programs_destroy(programs);
	return err;
}

int recorder_prepare(const struct recorder_options *options, struct programs *programs, uint32_t id,
		     struct recorder_prepared *prepared, char *err_text, size_t err_len)
{
	int err = programs ? open_shared(options, programs, id, &prepared->kernel, err_text, err_len) :
		  load_kernel(options, 0, &prepared->kernel, err_text, err_len);

	if (err)
		return err;
	prepared->shared = programs != NULL;
	err = hold_server_create(&prepared->server, prepared->kernel);
	if (!err && options->max_overhead_percent > 0) {
		err = calibrate_probe_cost(prepared->kernel, prepared->server, &prepared->cost);
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
	hold_server_destroy(prepared->server);
	bpf_side_destroy(prepared->kernel);
	*prepared = (struct recorder_prepared){ 0 };
}

/* A process with privileges that the user does not have has a directory in /proc that belongs to root. */
static bool may_attach(const struct recorder *r, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !r->options->only_of || (!stat(path, &st) && st.st_uid == r->options->only_of);
}

/* No other thread uses targets and spool meanwhile. */
static void *plan_libraries(void *arg)
{
	struct recorder *r = arg;
	pid_t *descendants;
	size_t n;

	for (size_t i = 0; i < r->options->npids; i++)
		targets_plan(r->targets, r->options->pids[i]);
	if (proc_descendants_read(r->options->pids, r->options->npids, &descendants, &n))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (may_attach(r, descendants[i]))
			targets_plan(r->targets, descendants[i]);
	free(descendants);
	return NULL;
}

/* The verifier takes long; libraries are read in the meantime. */
static int load_programs(struct recorder *r, size_t parts)
{
	pthread_t planning;
	bool threaded = r->options->npids && !pthread_create(&planning, NULL, plan_libraries, r);
	int err = load_kernel(r->options, parts, &r->kernel, r->err, r->err_len);

	if (threaded)
		pthread_join(planning, NULL);
	return err;
}

static int open_kernel(struct recorder *r)
{
	size_t parts = load_parts_wanted();     /* before the parser process runs */
	int err = parse_pool_create(&r->parsers, r->options->set);

	if (!err)
		err = targets_create(&r->targets, r->options->set, r->options->filter, r->parsers, r->spool,
				     r->options->max_overhead_percent > 0);
	if (err)
		return recorder_begin_fail(r, err, "cannot begin the recording");
	parse_pool_warm(r->parsers);
	err = r->kernel ? 0 : load_programs(r, parts);
	if (err)
		return err;
	err = r->server ? 0 : hold_server_create(&r->server, r->kernel);
	if (!err)
		err = hold_server_start_heartbeat(r->server);
	if (err)
		return recorder_begin_fail(r, err, "cannot start the hold server");
	targets_begin(r->targets, r->kernel, r->server, !r->options->no_shared_links, r->options->lazy_streams);
	if (!bpf_side_follows_uring(r->kernel))
		note_missing(r->spool, "POSIX", "io_uring", "*",
			     "its tracepoints are missing or lack arguments (Linux 6.0 is needed)");
	err = rings_create(&r->rings, r->kernel, recorder_on_record, r);
	if (!err)
		err = excluded_create(&r->excluded, r->options->filter, r->kernel, r->options->set, r->spool);
	if (!err)
		err = demands_create(&r->demands, r->kernel, r->targets, r->options->set, r->spool);
	if (!err && r->options->kernel.call_sites)
		err = sites_create(&r->sites, r->kernel, r->options->set, r->options->kernel.call_sites);
	if (!err)
		err = recorder_begin_watch(r, hold_server_fd(r->server));
	if (!err)
		err = recorder_begin_watch(r, rings_poll_fd(r->rings));
	if (!err)
		parse_pool_set_work(r->parsers, rings_poll_fd(r->rings), recorder_drain, r);
	return err ? recorder_begin_fail(r, err, "cannot set up the rings") : 0;
}

static int open_overhead_limit(struct recorder *r)
{
	struct probe_cost cost = r->prepared.cost;
	int err = 0;

	if (!(r->options->max_overhead_percent > 0) || (r->options->prepared && !r->prepared.measured))
		return 0;
	if (!r->options->prepared)
		err = calibrate_probe_cost(r->kernel, r->server, &cost);
	if (!err)
		err = overhead_limit_create(&r->overhead, r->options->max_overhead_percent, r->options->set, r->targets, &cost,
					    r->spool);
	return err && err != -EOPNOTSUPP ? recorder_begin_fail(r, err, "cannot measure what probes cost") : 0;
}

static int begin_spool(struct recorder *r)
{
	int err;

	if (r->options->bounds)
		r->bounds = *r->options->bounds;
	r->bounds.cpu_time = r->options->kernel.cpu_time;
	note_host(r->spool, r->options->host, r->options->cluster, r->options->shared_mounts, r->options->nshared_mounts,
		  &r->bounds, r->options->command_line, r->options->kernel.call_sites, r->options->kernel.cpu_time);
	note_tables(r->spool, r->options->set);
	spool_writer_flush(r->spool);   /* the budget needs to know the size of the tables */
	err = budget_create(&r->budget, &r->bounds, r->options->set, r->spool, r->err, r->err_len);
	return err ? recorder_begin_fail(r, err, "cannot begin the recording") : 0;
}

int recorder_open(struct recorder *r)
{
	int err = recorder_begin_open_signals(r);

	if (err)
		return recorder_begin_fail(r, err, "cannot begin the recording");
	r->costs = probe_costs_create(r->options->set, r->options->filter, r->options->kernel.call_sites);
	r->stripes = stripes_create();
	err = clock_watch_open(&r->clock);
	if (!err)
		err = recorder_begin_watch(r, r->clock.fd);
	if (err)
		return recorder_begin_fail(r, err, "cannot watch the wall clock");
	err = begin_spool(r);
	if (!err)
		err = open_kernel(r);
	return err ? err : open_overhead_limit(r);
}

/* ---- targets ---- */

/* A process that belongs to another recording is counted each time that it is found. */
static int attach_one(struct recorder *r, pid_t pid)
{
	int err = targets_attach(r->targets, pid);

	r->foreign_now += err == -EBUSY;
	return err;
}

/* Attaching takes a while, during which recorded processes already fill the rings. */
static void attach_member(struct recorder *r, pid_t pid)
{
	if (may_attach(r, pid) && !attach_one(r, pid))
		demands_place(r->demands, pid, 0);
	recorder_round(r);
}

/* Attaches descendants; again if that found new ones, which may have forked before they were attached. */
static void attach_descendants(struct recorder *r, const pid_t *pids, size_t npids)
{
	pid_t *descendants;
	size_t n, before;

	for (int pass = 0; pass < 16; pass++) {
		before = targets_count(r->targets).processes;
		if (proc_descendants_read(pids, npids, &descendants, &n))
			return;
		for (size_t i = 0; i < n; i++)  /* one that has ended meanwhile is not an error */
			attach_member(r, descendants[i]);
		free(descendants);
		if (targets_count(r->targets).processes == before)
			return;
	}
}

/* Only the named process must exist. */
static int attach_tree(struct recorder *r, pid_t pid)
{
	int err = may_attach(r, pid) ? targets_attach(r->targets, pid) : -EPERM;

	if (err) {
		snprintf(r->err, r->err_len, err == -ESRCH ? "cannot attach to process %d: it does not exist or has ended" :
			 "cannot attach to process %d: %s", pid,
			 err == -EBUSY ? "another recording of the service has it: stop that one first" : strerror(-err));
		return err;
	}
	demands_place(r->demands, pid, 0);
	attach_descendants(r, &pid, 1);
	return 0;
}

static int attach_running(struct recorder *r)
{
	for (size_t i = 0; i < r->options->npids; i++) {
		int err = attach_tree(r, r->options->pids[i]);

		if (err)
			return err;
	}
	return 0;
}

/* Scripts have none: then the usual one is used. */
static void interpreter_of(struct recorder *r, const char *path, char *buf, size_t len)
{
	struct code_file file;
	char reason[256];

	buf[0] = 0;
	if (!code_file_open(&file, path)) {
		parse_interpreter(r->parsers, &file, buf, len, reason, sizeof(reason));
		code_file_close(&file);
	}
	if (!buf[0])
		snprintf(buf, len, "%s", DEFAULT_INTERPRETER);
}

/* New programs wait for their probes, perhaps on the agent's only processor: without the privilege to raise its priority they wait
 * longer. */
static void hold_programs(struct recorder *r)
{
	r->old_nice = getpriority(PRIO_PROCESS, 0);
	r->raised = !setpriority(PRIO_PROCESS, 0, LAUNCH_NICE);
	targets_hold(r->targets);
	hold_server_await(r->server);   /* if it fails, the programs are not held, and BPF reports it */
}

static int fail_launch(struct recorder *r, int err, const char *reason)
{
	r->result->launch_error = err;
	snprintf(r->err, r->err_len, "cannot run %s: %s", r->options->command[0], reason);
	return err;
}

static int launch_command(struct recorder *r)
{
	char path[4096], interpreter[4096];
	const struct launch_program program = { path, r->options->command, r->options->environment, r->options->caller };
	int err;

	err = launch_find(r->options->command[0], r->options->environment, r->options->caller, path, sizeof(path));
	if (err)
		return fail_launch(r, err,
				   err == -ENOENT   ? "command not found"
				   : err == -EACCES ? "its user may not execute it"
						    : strerror(-err));
	err = launch_prepare(&r->launch, &program);
	if (err)
		return recorder_begin_fail(r, err, "cannot fork");
	bpf_side_take_at_exec(r->kernel, r->launch.pid);
	hold_programs(r);       /* after the fork */
	interpreter_of(r, path, interpreter, sizeof(interpreter));
	if (!targets_prepare_linker(r->targets, r->launch.pid, interpreter))
		note_missing(r->spool, "*", interpreter, "_dl_debug_state",
			     "new programs cannot be held until their probes are in place");
	targets_prepare_executable(r->targets, r->launch.pid, path);
	r->launched = true;
	return 0;
}

int recorder_find_job_processes(struct recorder *r, pid_t **pids, size_t *n)
{
	int err = job_processes_find(r->options->job, pids, n);

	if (err == -EPERM)
		snprintf(r->err, r->err_len, "cannot record job %s: processes of several users claim to belong to it",
			 r->options->job->job);
	else if (err)
		recorder_begin_fail(r, err, "cannot look for the job's processes");
	return err;
}

bool recorder_has_foreign(const struct recorder_options *options, const struct recorder_prepared *prepared)
{
	for (size_t i = 0; i < options->npids; i++)
		if (bpf_side_is_foreign(prepared->kernel, options->pids[i]))
			return true;
	return false;
}

/* Attaches processes that already run, or whose exec could not be matched. One that has ended meanwhile is not an error. Returns
 * the number of new ones. */
size_t recorder_attach_job_processes(struct recorder *r, const pid_t *pids, size_t n)
{
	size_t before = targets_count(r->targets).processes;

	r->foreign_now = 0;
	for (size_t i = 0; i < n; i++)
		attach_member(r, pids[i]);
	if (targets_count(r->targets).processes > before)
		attach_descendants(r, pids, n);
	if (r->foreign_now > r->foreign)
		r->foreign = r->foreign_now;
	return targets_count(r->targets).processes - before;
}

static int max_sets(void)
{
	const char *number = getenv(MAX_SETS_VARIABLE);

	return number && atoi(number) > 0 ? atoi(number) : MAX_SETS;
}

/* Every set of programs costs every system call of the node. A single recording uses a set of its own, up to a number of sets. */
static int attach_programs(struct recorder *r)
{
	int sets = r->prepared.shared || r->options->force ? 0 : programs_count_attached();

	if (sets < max_sets())
		return bpf_side_attach(r->kernel, r->err, r->err_len);
	snprintf(r->err, r->err_len,
		 "cannot begin: %d recordings have BPF programs attached on this node, and each costs every process 0.1 µs per "
		 "system call: wait until one ends, record through the service (ioprobe job start), or use --force",
		 sets);
	return -EUSERS;
}

/* Processes that start before this are found in /proc afterwards, those that start later by the BPF programs. */
static int await_job(struct recorder *r)
{
	struct iop_job_matcher job_matcher;
	int err;

	members_job_matcher(r->options->job, &job_matcher);
	bpf_side_await(r->kernel, &job_matcher);
	hold_programs(r);
	err = attach_programs(r);
	r->begun_ns = monotonic_ns();
	return err;
}

static int attach_job(struct recorder *r)
{
	pid_t *pids;
	size_t n;
	int err = recorder_find_job_processes(r, &pids, &n);   /* finds the owner too */

	if (!err && !n) {
		snprintf(r->err, r->err_len, "cannot record job %s: no process on this node belongs to it", r->options->job->job);
		err = -ESRCH;
	}
	if (err)
		return err;
	err = await_job(r);
	if (!err)
		recorder_attach_job_processes(r, pids, n);
	free(pids);
	return err;
}

static int start_recording(struct recorder *r)
{
	int err;

	if (r->options->job)
		return r->options->job_must_run ? attach_job(r) : await_job(r);
	err = attach_programs(r);
	r->begun_ns = monotonic_ns();
	if (!err)
		err = r->options->command ? launch_command(r) : attach_running(r);
	return err;
}

int recorder_start_targets(struct recorder *r)
{
	int err = start_recording(r);

	if (err)
		return err;
	r->options->ready(r->options->ready_arg, targets_running(r->targets), targets_count(r->targets).probes);
	if (!r->launched)
		return 0;
	r->begun_ns = monotonic_ns();
	err = launch_go(&r->launch);
	if (err) {
		r->launched = false;
		return fail_launch(r, err, strerror(-err));
	}
	return 0;
}
