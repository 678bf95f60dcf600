/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Records running processes (--pid) or a launched program, then writes archive and summary.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/guard_calls.h"
#include "proc/procfs.h"
#include "capture/recorder.h"
#include "cmd/record_arguments.h"
#include "cmd/replace_file.h"
#include "cmd/report_task.h"
#include "archive/archive.h"
#include "privilege/capabilities.h"
#include "privilege/environment.h"
#include "privilege/output.h"
#include "stream/follower.h"
#include "util/limits.h"

#define JOB_IDLE_LIMIT_S 30      /* from one step to the next, if the end of the job is not reported */
#define DEFAULT_MAX_OVERHEAD 2  /* percent, for a job that already runs; a program launched by ioprobe has no limit */

#define STREAM_WAIT_MS 10000            /* at the end, when everything else is done */

/* ---- one recording ---- */

struct recording {
	const struct record_arguments *arguments;
	struct output *out;
	struct follower follower;
};

/* A file capability to read any file must not be used to read files for the caller. */
static int load_table(struct table_set *set, const struct record_arguments *a, const char *path, char *err, size_t err_len)
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

static int record_load_tables(struct table_set *set, const struct record_arguments *a, char *err, size_t err_len)
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

/* A stream that cannot be started only causes a message. */
static void record_start_stream(struct recording *recording)
{
	const struct settings *settings = &recording->arguments->settings;
	const struct follower_options options = { (const char *const *)settings->streams, settings->nstreams,
						  settings->stream_interval[0] ? settings->stream_interval : NULL,
						  settings->stream_names[0] ? settings->stream_names : NULL,
						  settings->stream_events[0] ? settings->stream_events : NULL };
	int ret = settings->nstreams ? follower_start(&recording->follower, &options, recording->out) : 0;

	if (ret)
		fprintf(stderr, "ioprobe: --stream: no process can be started: %s; the recording goes on\n", strerror(-ret));
}

static void finish_stream(struct recording *recording)
{
	if (follower_finish(&recording->follower, STREAM_WAIT_MS) == -ETIMEDOUT)
		fprintf(stderr, "ioprobe: --stream: process %d has not written all intervals yet, and "
			"continues\n", recording->follower.pid);
}

static void record_say_ready(void *arg, size_t processes, size_t probes)
{
	struct recording *recording = arg;
	const struct record_arguments *a = recording->arguments;

	record_start_stream(recording);

	if (cli_quiet())
		return;
	if (!a->command)
		fprintf(stderr, "ioprobe: recording %zu %s with %zu probe points to %s\n", processes,
			processes == 1 ? "process" : "processes", probes, a->dir);
	else
		fprintf(stderr, "ioprobe: recording %s to %s\n", a->command[0], a->dir);
}

static bool is_bound(const char *stopped_by)
{
	return !strcmp(stopped_by, "max-size") || !strcmp(stopped_by, "min-free") || !strcmp(stopped_by, "max-rate");
}

static int exit_status(const struct record_arguments *a, const struct recorder_result *result)
{
	if (!a->command || !result->command_ended)
		return 0;
	return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status) : WEXITSTATUS(result->wait_status);
}

/* Also printed with --quiet: calls after this point are not in the trace. A program that still runs has no exit status: that of the
 * recording is returned. */
static void say_stopped(const struct record_arguments *a, const struct recorder_result *result)
{
	const char *reason = result->reason[0] ? result->reason : "the recording failed";
	const char *remedy = result->stopped_by && is_bound(result->stopped_by) ?
			     "; allow more, or record less (--path, --min-bytes, --stream-calls=count)" : "";

	if (a->command && result->command_pid && !result->command_ended)
		fprintf(stderr, "ioprobe: %s: %s (pid %d) continues without being "
			"recorded%s\n", reason, a->command[0], result->command_pid,
			remedy);
	else if (*remedy)
		fprintf(stderr, "ioprobe: %s: the recording ended before %s%s\n", reason, a->job ? "the job" : "its processes",
			remedy);
}

static void say_guarding(const struct hold_guarding *guarding)
{
	if (guarding->pid && guarding->calls)
		fprintf(stderr, "ioprobe: %zu %s in flight: process %d (ioprobe-guard) stays until %s returned\n", guarding->calls,
			guarding->calls == 1 ? "recorded call is" : "recorded calls are", guarding->pid,
			guarding->calls == 1 ? "it has" : "they have");
	if (guarding->pid && guarding->unread)
		fprintf(stderr, "ioprobe: %zu of the calls in flight may have returned: the mappings of their processes were "
			"not read (at most %d processes at a time)\n", guarding->unread, GUARD_MAPS_READS);
}

static int record_fail(const char *message)
{
	fprintf(stderr, "ioprobe: %s\n", message);
	return 1;
}

/* A report that cannot be made only causes a message: the archive exists. */
static int write_report(const struct record_arguments *a, const struct output *out)
{
	const char *name = a->summary.report_file;
	struct report_task task;
	char err[5200] = "";
	int ret;

	if (!a->summary.want_report)
		return 0;
	report_task_init(&task, a->dir, out->dir);
	task.options.color = !name && isatty(STDERR_FILENO) && !getenv("NO_COLOR");
	if (name)
		task.format = report_format_of_file(name);
	if (report_task_run(&task, out->owner, err, sizeof(err)))
		ret = record_fail(err);
	else if (name)
		ret = replace_file(name, &a->caller, task.text, task.len);
	else
		ret = fwrite(task.text, 1, task.len, stderr) == task.len ? 0 : -errno;
	free(task.text);
	if (ret < 0) {
		snprintf(err, sizeof(err), "%s: cannot write the report: %s", name ? name : "stderr", strerror(-ret));
		ret = record_fail(err);
	}
	return ret;
}

/* Writes archive, summary and report. The spool is kept if there is no archive. */
static int record_write_archive(struct record_arguments *a, const struct output *out)
{
	const struct archive_options options = { .text = a->summary.text, .json = a->summary.json, .all_files = a->all_files,
						 .keep_spool = a->settings.keep_spool, .progress = !cli_quiet() };
	char err[1024] = "";

	if (!archive_write(out, &options, err, sizeof(err))) {
		int ret = write_report(a, out);

		return summary_output_close(&a->summary, err, sizeof(err)) ? record_fail(err) : ret;
	}
	record_fail(err);
	fprintf(stderr, "ioprobe: the records are kept in %s/" OUTPUT_SPOOL ": ioprobe recover %s\n", a->dir, a->dir);
	return 1;
}

static int record_to(struct record_arguments *a, const struct table_set *set, struct output *out)
{
	char err[1024] = "", spool[4200];
	struct recorder_result result = { 0 };
	struct recording recording = { a, out, { 0 } };
	struct recorder_options recorder = {
		.set = set, .spool_path = spool, .pids = a->pids, .npids = a->npids, .command = a->command,
		.caller = &a->caller, .environment = a->environment, .duration_s = a->settings.duration_s,
		.max_overhead_percent = a->max_overhead >= 0 ? a->max_overhead : a->command ? 0 : DEFAULT_MAX_OVERHEAD,
		.job = a->job ? &a->members : NULL, .job_must_run = true, .idle_limit_s = JOB_IDLE_LIMIT_S,
		.filter = &a->settings.filter, .bounds = &a->settings.bounds,
		.only_of = capability_has(CAP_SYS_PTRACE) ? 0 : geteuid(), .cluster = getenv("SLURM_CLUSTER_NAME"),
		.command_line = a->command_line,
		.kernel = { .best_method = a->method, .ring_bytes = a->ring_bytes, .sockets = a->sockets,
			    .mmap_faults = a->mmap_faults, .device = a->device, .cpu_time = a->cpu_time,
			    .collectives = a->collectives, .call_sites = a->call_sites },
		.force = a->force,
		.shared_mounts = (const char *const *)a->settings.shared_mounts, .nshared_mounts = a->settings.nshared_mounts,
		.no_shared_links = a->settings.no_shared_links, .lazy_streams = a->settings.lazy_streams,
		.followed = a->settings.nstreams > 0, .ready = record_say_ready, .ready_arg = &recording,
	};
	int ret;

	snprintf(spool, sizeof(spool), "%s/" OUTPUT_SPOOL, a->dir);
	ret = output_create_spool(out, &recorder.spool, err, sizeof(err)) ?: recorder_run(&recorder, &result, err, sizeof(err));
	if (ret)
		record_fail(err);
	if (ret && !result.records) {
		follower_discard(&recording.follower, out);
		output_discard(out);
		return !result.launch_error ? CLI_FAILED : result.launch_error == -ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_EXECUTE;
	}
	say_stopped(a, &result);
	say_guarding(&result.guarding);
	signal(SIGPIPE, SIG_IGN);       /* only now: the launched program would have inherited it */
	/* After an error the records up to then are still archived. */
	ret |= record_write_archive(a, out);
	finish_stream(&recording);
	if (ret)
		return 1;
	return exit_status(a, &result);
}

static int record_here(struct record_arguments *a, const struct table_set *set)
{
	struct output out;
	char err[1024];
	int ret;

	if (output_create(&out, &a->caller, a->dir, err, sizeof(err)))
		return record_fail(err);
	ret = summary_output_open(&a->summary, &a->caller, cli_quiet(), err, sizeof(err));
	if (ret)
		output_discard(&out);
	ret = ret ? record_fail(err) : record_to(a, set, &out);
	summary_output_close(&a->summary, err, sizeof(err));
	output_close(&out);
	return ret;
}

/* Checks requirements on the caller and on this process. */
static int record_prepare(struct record_arguments *a, char *err, size_t err_len)
{
	char missing[64];

	if (capability_missing(missing, sizeof(missing))) {
		snprintf(err, err_len, "cannot record: needs root (sudo ioprobe …) or capabilities, of which %s %s missing; "
			 "'ioprobe check' lists what each is needed for", missing, strchr(missing, ',') ? "are" : "is");
		return -EPERM;
	}
	if (limits_raise_files(err, err_len))
		return -EMFILE;
	if (!proc_initial_pid_namespace()) {
		snprintf(err, err_len,
			 "cannot record from inside a pid namespace (container): run ioprobe on the host, with the processes' "
			 "host ids");
		return -EPERM;
	}
	for (size_t i = 0; i < a->npids; i++)
		if (proc_is_kernel_thread(a->pids[i])) {
			snprintf(err, err_len, "cannot record process %d: it is a kernel thread; give the ids of user "
				"processes", a->pids[i]);
			return -EINVAL;
		}
	return identity_caller(&a->caller, err, err_len) ?: environment_create(&a->environment, &a->caller, a->env_from, err,
									       err_len);
}

/* Joins words; words with characters that are special in a shell are quoted. NULL without memory. */
static char *join_words(int argc, char **argv)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (int i = 0; out && i < argc; i++) {
		bool plain = argv[i][0] && !argv[i][strcspn(argv[i], " \t\n\"'\\$`*?[]{}()<>|&;#~!")];

		fputs(i ? plain ? " " : " '" : plain ? "" : "'", out);
		for (const char *c = argv[i]; *c; c++)
			*c == '\'' ? fputs("'\\''", out) : fputc(*c, out);
		if (!plain)
			fputc('\'', out);
	}
	if (out)
		fclose(out);
	return text;
}

static int run_record(struct cli *cli)
{
	static struct record_arguments a = { .max_overhead = -1, .call_sites = RECORD_SITE_FRAMES };
	struct table_set set;
	char err[1024], name[64];
	int ret;

	a.command_line = join_words(cli->argc, cli->argv);
	record_arguments_parse(&a, cli);
	if (record_prepare(&a, err, sizeof(err)))
		return record_fail(err);
	if (!a.dir[0]) {
		snprintf(name, sizeof(name), "%d", a.npids ? a.pids[0] : 0);
		output_default_name(a.dir, sizeof(a.dir), a.command ? a.command[0] : a.job ? a.job : name);
	}
	table_set_init(&set);
	ret = record_load_tables(&set, &a, err, sizeof(err));
	ret = ret ? record_fail(err) : record_here(&a, &set);
	table_set_deinit(&set);
	environment_free(a.environment);
	identity_deinit(&a.caller);
	free(a.command_line);
	return ret;
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "Record running processes, a job, or a program that it launches",
	.usage = (const char *const []){
		"[OPTION...] --pid PID[,PID...]",
		"[OPTION...] --job JOBID",
		"[OPTION...] [--] PROGRAM [ARGUMENT...]",
		NULL
	},
	.description = "Record what running processes, a SLURM job or a launched program do with their files, on every layer: "
		"netCDF, PnetCDF, HDF5, MPI-IO, ISO C streams, POSIX. When the recording ends, write an OTF2 archive and print a "
		"summary.\n\n"
		"The program runs as the user who called sudo. The word 'record' may be omitted before an option or before '-- "
		"PROGRAM'.",
	.options = record_options,
	.operand = "PROGRAM",
	.statuses = "126 (the program cannot be executed), 127 (it was not found), or that of the program; 128+N after signal N",
	.stops_at_operand = true,
	.run = run_record,
};
