/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The main job: record running processes (--pid) or a launched program (-- COMMAND), then write archive and summary.
 */
#include "cmd/cmd.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "capture/recorder.h"
#include "capture/settings.h"
#include "archive/archive.h"
#include "privilege/capabilities.h"
#include "privilege/environment.h"
#include "privilege/output.h"

#define MAX_PIDS 4096

struct arguments {
	pid_t pids[MAX_PIDS];
	size_t npids;
	const char *job, *node;
	struct members members;
	char **command, **environment;
	pid_t env_from;                         /* 0: not given */
	struct identity caller;
	char dir[4096];
	double max_overhead;                    /* < 0: not given */
	const char *tables[64];
	size_t ntables;
	bool json, quiet, sockets, device, mmap_faults, force;
	unsigned method;
	uint64_t ring_bytes;
	struct settings settings;
};

#define JOB_IDLE_LIMIT_S 30      /* from a step to the next, where nobody tells us of the job's end */
#define DEFAULT_MAX_OVERHEAD 2  /* percent, of a job that runs already; who launches a program wants all of it */

enum { OPT_MAX_OVERHEAD = 255, OPT_DURATION = 256, OPT_JSON, OPT_PROBES, OPT_KEEP_SPOOL, OPT_ATTACH, OPT_RING, OPT_LAYERS, OPT_PATH, OPT_EXCLUDE,
       OPT_FD_KINDS, OPT_MIN_DURATION, OPT_MIN_BYTES, OPT_STREAM_CALLS, OPT_SHARED, OPT_SHARED_LINKS, OPT_SOCKETS, OPT_DEVICE, OPT_MMAP_FAULTS, OPT_NODE,
       OPT_ENV_FROM, OPT_MAX_SIZE, OPT_MIN_FREE, OPT_MAX_RATE, OPT_FORCE };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "Record running processes, with their threads and what descends from them, until they end or ^C", 0 },
	{ "job", 'j', "JOBID", 0, "Record a SLURM job that runs on this node: all its processes, and the steps that it starts later, until all have "
	  "been gone for 30 s or ^C", 0 },
	{ "node", OPT_NODE, "NAME", 0, "With --job: only what runs on this of SLURM's nodes, where several share a kernel", 0 },
	{ "env-from", OPT_ENV_FROM, "PID", 0, "With COMMAND: run it in the environment that this process of yours was started with (PATH, "
	  "LD_LIBRARY_PATH, modules; default: ours, which sudo has cut)", 0 },
	{ "output", 'o', "DIR", 0, "Directory for the archive DIR/traces.otf2; made as the calling user, or an empty one of that user "
	  "(default: ioprobe-NAME-TIME)", 0 },
	{ "duration", OPT_DURATION, "SECONDS", 0, "Stop recording after this time; a COMMAND goes on without being recorded (default: until "
	  "it ends)", 0 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0, "Stop before records and archive together exceed SIZE: bytes, KiB, MiB, GiB, TiB (default: no limit)",
	  0 },
	{ "min-free", OPT_MIN_FREE, "SIZE", 0, "Stop before the output's file system has less free space than SIZE, the archive included "
	  "(default: no limit)", 0 },
	{ "max-rate", OPT_MAX_RATE, "N", 0, "Stop when more than N calls per second are recorded for a second (default: no limit)", 0 },
	{ "max-overhead", OPT_MAX_OVERHEAD, "PERCENT", 0, "Turn off probes on streams, and on again, to keep their estimated cost below this share "
	  "of each process' time; 0: never (default: 2, 0 with a COMMAND)", 0 },
	{ "layers", OPT_LAYERS, "LIST", 0, "Probe these layers only: netcdf, hdf5, mpiio, mpi, isoc, posix, or of your own tables", 1 },
	{ "path", OPT_PATH, "PREFIX[,...]", 0, "Of system calls on descriptors, record those on files under these folders", 1 },
	{ "exclude-path", OPT_EXCLUDE, "PREFIX[,...]", 0, "Do not record those on files under these", 1 },
	{ "fd-kinds", OPT_FD_KINDS, "LIST", 0, "Of system calls on descriptors, record those on: regular, directory, pipe, socket, char, block, "
	  "other", 1 },
	{ "min-duration", OPT_MIN_DURATION, "TIME", 0, "Leave out reads and writes that call nothing and take less (10us, 1ms)", 1 },
	{ "min-bytes", OPT_MIN_BYTES, "N", 0, "Leave out reads and writes that call nothing and are known to move less (4096, 64KiB)", 1 },
	{ "stream-calls", OPT_STREAM_CALLS, "record|count", 0, "Count reads and writes of streams that call nothing instead of recording "
	  "them (default: record)", 1 },
	{ "probes", OPT_PROBES, "FILE", 0, "A further probe table", 0 },
	{ "sockets", OPT_SOCKETS, NULL, 0, "Sockets too: connect, accept, send, receive, and on what addresses", 0 },
	{ "device", OPT_DEVICE, NULL, 0, "Whether each system call read from a block device or waited for I/O, or was served from memory", 0 },
	{ "mmap-faults", OPT_MMAP_FAULTS, NULL, 0, "Page faults on mapped files, and what the kernel writes back of them", 0 },
	{ "shared-mount", OPT_SHARED, "PATH", 0, "The file system mounted on PATH is shared by the job's nodes, whatever its type (may be "
	  "repeated)", 0 },
	{ "shared-links", OPT_SHARED_LINKS, "yes|no", 0, "Let one link serve a library that more than 8 recorded processes share; it puts "
	  "breakpoints into programs that are not recorded, too (default: yes)", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print the summary as JSON", 0 },
	{ "quiet", 'q', NULL, 0, "No messages but errors on stderr", 0 },
	{ "keep-spool", OPT_KEEP_SPOOL, NULL, 0, "Keep the records as they were captured, DIR/spool", 0 },
	{ "ring-size", OPT_RING, "MIB", 0, "Memory of all ring buffers together (default: 8 per CPU, 128 at most)", 0 },
	{ "attach", OPT_ATTACH, "METHOD", 0, "Attach library probes by: session, multi, perf (default: the first that the kernel has)", 0 },
	{ "force", OPT_FORCE, NULL, 0, "Record although 8 recordings have BPF programs attached on this node, each of which costs every process "
	  "0.1 us per system call", 0 },
	{ 0 }
};

static int add_pids(struct arguments *a, const char *text, struct argp_state *state)
{
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > 4194304 || (*end && *end != ','))
			argp_error(state, "--pid: '%s' is not a process id", text);
		if (a->npids == MAX_PIDS)
			argp_error(state, "--pid: more than %d process ids", MAX_PIDS);
		a->pids[a->npids++] = pid;
		text = *end ? end + 1 : end;
	}
	return 0;
}

static void set_number(double *out, const char *option, const char *text, struct argp_state *state)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out > 0) || *out > 1e9)
		argp_error(state, "%s: '%s' is not a positive number", option, text);
}

static void set_env_from(struct arguments *a, const char *text, struct argp_state *state)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > 4194304)
		argp_error(state, "--env-from: '%s' is not a process id", text);
	a->env_from = pid;
}

static void set_share(double *out, const char *text, struct argp_state *state)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 0 && *out <= 100))
		argp_error(state, "--max-overhead: '%s' is not a percentage", text);
}

static void set_method(struct arguments *a, const char *text, struct argp_state *state)
{
	static const char *const names[] = { [ATTACH_SESSION] = "session", [ATTACH_MULTI] = "multi", [ATTACH_PERF] = "perf" };

	for (a->method = 0; a->method <= ATTACH_PERF; a->method++)
		if (!strcmp(names[a->method], text))
			return;
	argp_error(state, "--attach: unknown method '%s'", text);
}

/* What the service's policy sets by the same words. false: not one of them. */
static bool parse_setting(int key, const char *arg, struct arguments *a, struct argp_state *state)
{
	static const struct { int key; const char *word; } words[] = {
		{ OPT_LAYERS, "layers" }, { OPT_PATH, "path" }, { OPT_EXCLUDE, "exclude-path" }, { OPT_FD_KINDS, "fd-kinds" },
		{ OPT_MIN_DURATION, "min-duration" }, { OPT_MIN_BYTES, "min-bytes" }, { OPT_STREAM_CALLS, "stream-calls" },
		{ OPT_DURATION, "max-duration" }, { OPT_MAX_SIZE, "max-size" }, { OPT_MIN_FREE, "min-free" }, { OPT_MAX_RATE, "max-rate" },
		{ OPT_SHARED, "shared-mount" }, { OPT_KEEP_SPOOL, "keep" },
		{ OPT_SHARED_LINKS, "shared-links" },
	};
	char err[512];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].key != key)
			continue;
		if (settings_set(&a->settings, words[i].word, arg ? arg : "yes", err, sizeof(err)))
			argp_error(state, "%s", err);
		return true;
	}
	return false;
}

static void check_targets(struct arguments *a, struct argp_state *state)
{
	int given = !!a->npids + !!a->job + !!a->command;

	if (given != 1)
		argp_error(state, given ? "--pid, --job and a COMMAND exclude each other" :
			   "nothing to record: give --pid PID, --job JOBID or -- COMMAND");
	if (a->job && members_of_slurm(&a->members, a->job, a->node))
		argp_error(state, "--job: '%s'%s%s is not a job id of SLURM", a->job, a->node ? " on node " : "",
			   a->node ? a->node : "");
	if (a->node && !a->job)
		argp_error(state, "--node is for --job");
	if (a->env_from && !a->command)
		argp_error(state, "--env-from is for a COMMAND");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	double number;

	switch (key) {
	case 'p': return add_pids(a, arg, state);
	case 'j': a->job = arg; break;
	case OPT_NODE: a->node = arg; break;
	case OPT_ENV_FROM: set_env_from(a, arg, state); break;
	case 'o': snprintf(a->dir, sizeof(a->dir), "%s", arg); break;
	case 'q': a->quiet = true; break;
	case OPT_MAX_OVERHEAD: set_share(&a->max_overhead, arg, state); break;
	case OPT_JSON: a->json = true; break;
	case OPT_FORCE: a->force = true; break;
	case OPT_SOCKETS: a->sockets = true; break;
	case OPT_DEVICE: a->device = true; break;
	case OPT_MMAP_FAULTS: a->mmap_faults = true; break;
	case OPT_ATTACH: set_method(a, arg, state); break;
	case OPT_RING: set_number(&number, "--ring-size", arg, state); a->ring_bytes = number * (1 << 20); break;
	case OPT_PROBES:
		if (a->ntables == sizeof(a->tables) / sizeof(a->tables[0]))
			argp_error(state, "--probes: too many tables");
		a->tables[a->ntables++] = arg;
		break;
	case ARGP_KEY_ARGS: a->command = state->argv + state->next; break;
	case ARGP_KEY_END:
		check_targets(a, state);
		break;
	default: return parse_setting(key, arg, a, state) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "--pid PID[,PID...]\n--job JOBID\n-- COMMAND [ARGUMENT...]\ncheck\nprobes [OPTION...]\nrecover DIR\nmerge -o DIR NODE_DIR...\n"
	"serve [OPTION...]\njob start|stop|status|version [OPTION...]",
	"Shows what a running, unmodified parallel program really does with its files, on every layer at once.\v"
	"check: what this host allows; probes: the probe points of a library or process; recover: an archive from an interrupted "
	"recording; merge: one archive of a job's nodes; serve, job: recording a batch system's jobs. Each has its own --help.\n\n"
	"Exit status: 0, 1 (failed), 2 (usage), or that of the launched program.",
	NULL, NULL, NULL,
};

/* ---- one recording ---- */

/* A capability to read any file is not the caller's to read one with. */
static int load_table(struct table_set *set, const struct arguments *a, const char *path, char *err, size_t err_len)
{
	struct identity_saved saved;
	int ret;

	if (!geteuid())
		return table_parse_file(set, path, err, err_len);
	ret = identity_begin(&a->caller, &saved);
	if (ret) {
		snprintf(err, err_len, "cannot read %s as the calling user: %s", path, strerror(-ret));
		return ret;
	}
	ret = table_parse_file(set, path, err, err_len);
	identity_end(&saved);
	return ret;
}

static int load_tables(struct table_set *set, const struct arguments *a, char *err, size_t err_len)
{
	int ret = table_parse_builtin(set, err, err_len);

	if (!ret && a->sockets)
		ret = table_parse_optional(set, "sockets", err, err_len);
	for (size_t i = 0; i < a->ntables && !ret; i++)
		ret = load_table(set, a, a->tables[i], err, err_len);
	if (!ret && a->settings.filter.layers[0])
		ret = table_set_select(set, a->settings.filter.layers, err, err_len);
	return ret;
}

static void say_ready(void *arg, size_t processes, size_t probes)
{
	const struct arguments *a = arg;

	if (a->quiet)
		return;
	if (!a->command)
		fprintf(stderr, "ioprobe: recording %zu processes with %zu probe points to %s\n", processes, probes, a->dir);
	else
		fprintf(stderr, "ioprobe: recording %s to %s\n", a->command[0], a->dir);
}

static bool is_bound(const char *stopped_by)
{
	return !strcmp(stopped_by, "max-size") || !strcmp(stopped_by, "min-free") || !strcmp(stopped_by, "max-rate");
}

static int exit_status(const struct arguments *a, const struct recorder_result *result)
{
	if (!a->command || !result->command_ended)
		return 0;
	return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status) : WEXITSTATUS(result->wait_status);
}

/* Also with --quiet: what follows is not in the trace. A program that still runs has no status: ours is that of the recording. */
static void say_stopped(const struct arguments *a, const struct recorder_result *result)
{
	const char *reason = result->reason[0] ? result->reason : "the recording failed";
	const char *remedy = result->stopped_by && is_bound(result->stopped_by) ?
			     "; allow more, or record less (--path, --min-bytes, --stream-calls=count)" : "";

	if (a->command && result->command_pid && !result->command_ended)
		fprintf(stderr, "ioprobe: %s: %s (pid %d) goes on without being recorded%s\n", reason, a->command[0], result->command_pid,
			remedy);
	else if (*remedy)
		fprintf(stderr, "ioprobe: %s: the recording ended before %s%s\n", reason, a->job ? "the job" : "its processes", remedy);
}

static int fail(const char *message)
{
	fprintf(stderr, "ioprobe: %s\n", message);
	return 1;
}

/* Archive and summary. The spool stays if there is no archive of it. */
static int write_archive(const struct arguments *a, const struct output *out)
{
	const struct archive_options options = { .json = a->json, .summary = stdout, .keep_spool = a->settings.keep_spool };
	char err[1024] = "";

	if (!archive_write(out, &options, err, sizeof(err)))
		return 0;
	fail(err);
	fprintf(stderr, "ioprobe: the records are kept in %s/" OUTPUT_SPOOL ": ioprobe recover %s\n", a->dir, a->dir);
	return 1;
}

static int record_to(struct arguments *a, const struct table_set *set, struct output *out)
{
	char err[1024] = "", spool[4200];
	struct recorder_result result = { 0 };
	struct recorder_options recorder = {
		.set = set, .spool_path = spool, .pids = a->pids, .npids = a->npids, .command = a->command,
		.caller = &a->caller, .environment = a->environment, .duration_s = a->settings.duration_s,
		.max_overhead_percent = a->max_overhead >= 0 ? a->max_overhead : a->command ? 0 : DEFAULT_MAX_OVERHEAD,
		.job = a->job ? &a->members : NULL, .job_must_run = true, .idle_limit_s = JOB_IDLE_LIMIT_S,
		.filter = &a->settings.filter, .bounds = &a->settings.bounds, .only_of = capability_has(CAP_SYS_PTRACE) ? 0 : geteuid(),
		.cluster = getenv("SLURM_CLUSTER_NAME"),
		.kernel = { .best_method = a->method, .ring_bytes = a->ring_bytes, .sockets = a->sockets,
			    .mmap_faults = a->mmap_faults, .device = a->device },
		.force = a->force,
		.shared_mounts = (const char *const *)a->settings.shared_mounts, .nshared_mounts = a->settings.nshared_mounts,
		.no_shared_links = a->settings.no_shared_links,
		.ready = say_ready, .ready_arg = a,
	};
	int ret;

	snprintf(spool, sizeof(spool), "%s/" OUTPUT_SPOOL, a->dir);
	ret = output_create_spool(out, &recorder.spool, err, sizeof(err)) ?: recorder_run(&recorder, &result, err, sizeof(err));
	if (ret)
		fail(err);
	if (ret && !result.records) {
		output_discard(out);
		return 1;
	}
	say_stopped(a, &result);
	signal(SIGPIPE, SIG_IGN);       /* only now: the launched program would have inherited it */
	/* An error at the end of a recording leaves what was recorded. */
	if (write_archive(a, out) || ret)
		return 1;
	return exit_status(a, &result);
}

static int record(struct arguments *a, const struct table_set *set)
{
	struct output out;
	char err[1024];
	int ret;

	if (output_create(&out, &a->caller, a->dir, err, sizeof(err)))
		return fail(err);
	ret = record_to(a, set, &out);
	output_close(&out);
	return ret;
}

/* What is needed of the caller and of this process. */
static int prepare(struct arguments *a, char *err, size_t err_len)
{
	char missing[64];

	if (capability_missing(missing, sizeof(missing))) {
		snprintf(err, err_len, "cannot record: needs root (sudo ioprobe …) or capabilities, of which %s %s missing; 'ioprobe check' "
			 "tells what each is for", missing, strchr(missing, ',') ? "are" : "is");
		return -EPERM;
	}
	if (!proc_initial_pid_namespace()) {
		snprintf(err, err_len, "cannot record from inside a pid namespace (container): run ioprobe on the host, with the processes' "
			 "host ids");
		return -EPERM;
	}
	return identity_caller(&a->caller, err, err_len) ?: environment_create(&a->environment, &a->caller, a->env_from, err, err_len);
}

int cmd_record(int argc, char **argv)
{
	static struct arguments a = { .max_overhead = -1 };
	struct table_set set;
	char err[1024], name[64];
	int ret;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	if (prepare(&a, err, sizeof(err)))
		return fail(err);
	if (!a.dir[0]) {
		snprintf(name, sizeof(name), "%d", a.npids ? a.pids[0] : 0);
		output_default_name(a.dir, sizeof(a.dir), a.command ? a.command[0] : a.job ? a.job : name);
	}
	table_set_init(&set);
	ret = load_tables(&set, &a, err, sizeof(err));
	ret = ret ? fail(err) : record(&a, &set);
	table_set_deinit(&set);
	environment_free(a.environment);
	identity_deinit(&a.caller);
	return ret;
}
