/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The options of "ioprobe record".
 */
#include "cmd/record_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/bpf_side.h"
#include "cmd/following.h"
#include "stream/outputs.h"

enum {
	OPT_NODE = 256, OPT_ENV_FROM,
	OPT_SUMMARY, OPT_REPORT, OPT_ALL_FILES, OPT_JSON, OPT_KEEP_SPOOL,
	OPT_DURATION, OPT_MAX_SIZE, OPT_MIN_FREE, OPT_MAX_RATE,
	OPT_LAYERS, OPT_PATH, OPT_EXCLUDE, OPT_FD_KINDS, OPT_MIN_DURATION, OPT_MIN_BYTES, OPT_STREAM_CALLS,
	OPT_STREAM, OPT_STREAM_INTERVAL, OPT_STREAM_NAMES, OPT_STREAM_EVENTS,
	OPT_PROBES, OPT_SOCKETS, OPT_DEVICE, OPT_CPU_TIME, OPT_COLLECTIVES, OPT_MMAP_FAULTS, OPT_SHARED,
	OPT_MAX_OVERHEAD, OPT_RING, OPT_ATTACH, OPT_SHARED_LINKS, OPT_LAZY_STREAMS, OPT_FORCE,
	OPT_CALL_SITES, OPT_NO_CALL_SITES,
};

const struct cli_option record_options[] = {
	{ NULL, 0, NULL, "What to record, one of these or a program", NULL },
	{ "pid", 'p', "PID[,PID...]", "Record running processes, their threads and descendants, until they end or ^C", NULL },
	{ "job", 'j', "JOBID",
	  "Record a SLURM job that runs on this node, with the steps that it starts later, until it has had no process for 30 s, "
	  "or ^C",
	  NULL },
	{ "node", OPT_NODE, "NAME",
	  "With --job: record only the processes of SLURM's node NAME; for tests in which several nodes share one kernel", NULL },
	{ "env-from", OPT_ENV_FROM, "PID",
	  "With a program: run it with the environment of your process PID (PATH, LD_LIBRARY_PATH, "
	  "modules)", "ioprobe's own, which sudo has reduced" },

	{ NULL, 0, NULL, "Output", NULL },
	{ "output", 'o', "DIR",
	  "Write the archive to DIR/traces.otf2; DIR is made as the calling user, or is an empty directory of "
	  "that user", "ioprobe-NAME-TIME" },
	{ "summary", OPT_SUMMARY, "FILE", "Write the summary's text to FILE; 'none': do not write it", "stderr; nowhere with "
		"--quiet" },
	{ "report", OPT_REPORT, "[FILE]",
	  "When the archive is written, write the output of 'ioprobe report' to FILE, in the format of its name (.html, .json, "
		  ".sarif, .csv, else "
	  "text)", "no report; without FILE: stderr" },
	{ "all-files", OPT_ALL_FILES, NULL, "List files of the system (/proc, /sys, /etc) and libraries in the summary's text, too",
		NULL },
	{ "json", OPT_JSON, "[FILE]",
	  "Write the summary as JSON to FILE; without FILE, print it on stdout instead of the text (not with a launched "
	  "program, which uses the same stdout)", NULL },
	{ "keep-spool", OPT_KEEP_SPOOL, NULL, "Keep the records as they were captured, in DIR/spool", NULL },

	{ NULL, 0, NULL, "While it runs: see 'ioprobe stream'", NULL },
	{ "stream", OPT_STREAM, "[OUTPUT]",
	  "Write each interval to OUTPUT, by a separate process; may be repeated", "off; without OUTPUT: sqlite, DIR/live.db" },
	{ "stream-interval", OPT_STREAM_INTERVAL, "TIME", "Length of an interval", "1s" },
	{ "stream-events", OPT_STREAM_EVENTS, "none|errors|slow=TIME|1/N|all", "Also stream single calls, as --events of "
		"'ioprobe stream'",
	  "none; all with ldms" },
	{ "stream-names", OPT_STREAM_NAMES, "full|mount|hash",
	  "Stream full names of files, only their mount points, or mount points with a hash of the name", "full" },

	{ NULL, 0, NULL, "Bounds at which the recording ends and the program continues", NULL },
	{ "duration", OPT_DURATION, "SECONDS", "Record for SECONDS", "until the processes end" },
	{ "max-size", OPT_MAX_SIZE, "SIZE",
	  "Stop before records and archive together exceed SIZE: bytes, KiB, MiB, GiB, TiB", "no limit" },
	{ "min-free", OPT_MIN_FREE, "SIZE",
	  "Stop before the output's file system has less than SIZE free, the archive included", "no limit" },
	{ "max-rate", OPT_MAX_RATE, "N", "Stop when more than N calls are recorded within one second", "no limit" },

	{ NULL, 0, NULL, "Record less; what is excluded is counted", NULL },
	{ "layers", OPT_LAYERS, "LIST",
	  "Probe only these layers: netcdf, pnetcdf, hdf5, mpiio, mpi, isoc, posix, or layers of your own tables", "all" },
	{ "path", OPT_PATH, "PREFIX[,...]",
	  "Record system calls on descriptors only for files below these directories", "all" },
	{ "exclude-path", OPT_EXCLUDE, "PREFIX[,...]",
	  "Do not record system calls on descriptors of files below these directories", NULL },
	{ "fd-kinds", OPT_FD_KINDS, "LIST",
	  "Record system calls only on these kinds of descriptors: regular, directory, pipe, socket, char, block, other", "all" },
	{ "min-duration", OPT_MIN_DURATION, "TIME",
	  "Do not record reads and writes that take less than TIME (10us, 1ms) and contain no recorded call", "record all" },
	{ "min-bytes", OPT_MIN_BYTES, "SIZE",
	  "Do not record reads and writes that are known to move less than SIZE (4096, 64KiB) and contain no recorded call",
	  "record all" },
	{ "stream-calls", OPT_STREAM_CALLS, "record|count",
	  "Record, or only count, reads and writes of ISO C streams that contain no recorded call", "record" },

	{ NULL, 0, NULL, "Record more", NULL },
	{ "probes", OPT_PROBES, "FILE", "Add a probe table; may be repeated", NULL },
	{ "sockets", OPT_SOCKETS, NULL, "Record sockets: connect, accept, send, receive, with their addresses", NULL },
	{ "device", OPT_DEVICE, NULL,
	  "Record for each system call whether it read from a block device or waited for I/O, or was served from memory", NULL },
	{ "cpu-time", OPT_CPU_TIME, NULL,
	  "Record for each outermost call how long its thread computed, slept and waited for a CPU, in the call and since the "
	  "previous one", NULL },
	{ "collectives", OPT_COLLECTIVES, NULL,
	  "Record the last collective call of MPI before each outermost I/O call and the first one after it", NULL },
	{ "mmap-faults", OPT_MMAP_FAULTS, NULL, "Record page faults on mapped files and their write-back by the kernel", NULL },
	{ "call-sites", OPT_CALL_SITES, "[N]",
	  "Record the line of the program that each library call and system call comes from, with up to N of its callers", "4" },
	{ "no-call-sites", OPT_NO_CALL_SITES, NULL, "Do not record which lines of the program calls come from", NULL },
	{ "shared-mount", OPT_SHARED, "DIR",
	  "Treat the file system mounted on DIR as shared by the job's nodes, regardless of its type; may be repeated", NULL },

	{ NULL, 0, NULL, "Cost", NULL },
	{ "max-overhead", OPT_MAX_OVERHEAD, "PERCENT",
	  "Detach probes on streams, and attach them again later, to keep their estimated cost below PERCENT of each process' "
	  "time; 0: never", "2; 0 with a program" },
	{ "ring-size", OPT_RING, "MIB", "Use MIB MiB of memory for all ring buffers together", "8 per CPU, at most 128" },
	{ "attach", OPT_ATTACH, "session|multi|perf", "Attach library probes by this method", "the first that the kernel has" },
	{ "shared-links", OPT_SHARED_LINKS, "yes|no",
	  "Let one link serve a library that more than 8 recorded processes share; it puts breakpoints into programs that are not "
	  "recorded, too", "yes" },
	{ "lazy-streams", OPT_LAZY_STREAMS, NULL,
	  "Place probes on ISO C streams only in processes that have lived 10 ms; the others are reported. "
	  "For programs that start many others", NULL },
	{ "force", OPT_FORCE, NULL,
	  "Record even if 8 recordings have BPF programs attached on this node; each costs every process 0.1 us per "
	  "system call", NULL },
	{ 0 }
};

static void add_pids(struct record_arguments *a, const char *text, const struct cli *cli)
{
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > 4194304 || (*end && *end != ','))
			cli_error(cli, "--pid: '%s' is not a process id", text);
		if (a->npids == RECORD_MAX_PIDS)
			cli_error(cli, "--pid: more than %d process ids", RECORD_MAX_PIDS);
		a->pids[a->npids++] = pid;
		text = *end ? end + 1 : end;
	}
}

static void record_arguments_set_number(double *out, const char *option, const char *text, const struct cli *cli)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out > 0) || *out > 1e9)
		cli_error(cli, "%s: '%s' is not a positive number", option, text);
}

static void set_share(double *out, const char *text, const struct cli *cli)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 0 && *out <= 100))
		cli_error(cli, "--max-overhead: '%s' is not a percentage", text);
}

static void record_arguments_set_call_sites(struct record_arguments *a, const char *text, const struct cli *cli)
{
	uint32_t frames = text ? cli_number(cli, "--call-sites", text) : RECORD_SITE_FRAMES;

	if (frames < 1 || frames > IOP_SITE_MAX_FRAMES)
		cli_error(cli, "--call-sites: '%s' is not a number from 1 to %d", text, IOP_SITE_MAX_FRAMES);
	a->call_sites = frames;
}

static void set_method(struct record_arguments *a, const char *text, const struct cli *cli)
{
	static const char *const names[] = { [ATTACH_SESSION] = "session", [ATTACH_MULTI] = "multi", [ATTACH_PERF] = "perf" };

	for (a->method = 0; a->method <= ATTACH_PERF; a->method++)
		if (!strcmp(names[a->method], text))
			return;
	cli_error(cli, "--attach: unknown method '%s'", text);
}

/* Options that are also words of the service's policy. */
static void record_arguments_set_setting(int key, const char *arg, struct record_arguments *a, const struct cli *cli)
{
	static const struct { int key; const char *word; } words[] = {
		{ OPT_LAYERS, "layers" }, { OPT_PATH, "path" }, { OPT_EXCLUDE, "exclude-path" }, { OPT_FD_KINDS, "fd-kinds" },
		{ OPT_MIN_DURATION, "min-duration" }, { OPT_MIN_BYTES, "min-bytes" }, { OPT_STREAM_CALLS, "stream-calls" },
		{ OPT_DURATION, "max-duration" }, { OPT_MAX_SIZE, "max-size" }, { OPT_MIN_FREE, "min-free" },
		{ OPT_MAX_RATE, "max-rate" }, { OPT_SHARED, "shared-mount" }, { OPT_KEEP_SPOOL, "keep" },
		{ OPT_SHARED_LINKS, "shared-links" }, { OPT_LAZY_STREAMS, "lazy-streams" },
		{ OPT_STREAM, "stream" }, { OPT_STREAM_INTERVAL, "stream-interval" }, { OPT_STREAM_NAMES, "stream-names" },
		{ OPT_STREAM_EVENTS, "stream-events" },
	};
	char err[512];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].key != key)
			continue;
		if (settings_set(&a->settings, words[i].word, arg ? arg : "yes", err, sizeof(err)))
			cli_error(cli, "%s", err);
		return;
	}
}

static void set_stream(int key, const char *value, struct record_arguments *a, const struct cli *cli)
{
	char err[512];

	if (key == OPT_STREAM && !value)
		value = "sqlite";
	if (key == OPT_STREAM && !live_output_valid(value, err, sizeof(err)))
		cli_error(cli, "--stream=%s", err);
	if (key == OPT_STREAM && live_output_is_stdout(value))
		cli_error(cli, "--stream=%s: a file is needed: %s:/PATH", value, value);
	if (key == OPT_STREAM_EVENTS)
		following_events(cli, "--stream-events", value, &(struct live_options){ 0 });
	if (key == OPT_STREAM_INTERVAL)
		following_interval(cli, "--stream-interval", value);
	if (key == OPT_STREAM_NAMES)
		following_names(cli, "--stream-names", value);
	record_arguments_set_setting(key, value, a, cli);
}

static void check_targets(struct record_arguments *a, const struct cli *cli)
{
	int given = !!a->npids + !!a->job + !!a->command;

	if (given != 1)
		cli_error(cli, given ? "--pid, --job and a PROGRAM exclude each other" :
			   "nothing to record: give --pid PID, --job JOBID or -- PROGRAM");
	if (a->job && job_processes_of_slurm(&a->members, a->job, a->node))
		cli_error(cli, "--job: '%s'%s%s is not a job id of SLURM", a->job, a->node ? " on node " : "",
			   a->node ? a->node : "");
	if (a->node && !a->job)
		cli_error(cli, "--node is for --job");
	if (a->command && a->summary.want_json && !a->summary.json_file)
		cli_error(cli, "--json needs a file with a PROGRAM, which owns stdout: --json=FILE");
	if (a->env_from && !a->command)
		cli_error(cli, "--env-from is for a PROGRAM");
}

static void set_output(struct record_arguments *a, const char *dir, const struct cli *cli)
{
	if ((size_t)snprintf(a->dir, sizeof(a->dir), "%s", dir) >= sizeof(a->dir))
		cli_error(cli, "--output: the name is longer than %zu bytes", sizeof(a->dir) - 1);
}

static void add_table(struct record_arguments *a, const char *path, const struct cli *cli)
{
	if (a->ntables == sizeof(a->tables) / sizeof(a->tables[0]))
		cli_error(cli, "--probes: too many tables");
	a->tables[a->ntables++] = path;
}

static void record_arguments_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct record_arguments *a = input;
	double number;

	switch (key) {
	case 'p': add_pids(a, value, cli); break;
	case 'j': a->job = value; break;
	case OPT_NODE: a->node = value; break;
	case OPT_ENV_FROM: a->env_from = cli_pid(cli, "--env-from", value); break;
	case 'o': set_output(a, value, cli); break;
	case OPT_MAX_OVERHEAD: set_share(&a->max_overhead, value, cli); break;
	case OPT_ALL_FILES: a->all_files = true; break;
	case OPT_SUMMARY: a->summary.text_file = value; break;
	case OPT_JSON: a->summary.want_json = true; a->summary.json_file = value; break;
	case OPT_REPORT: a->summary.want_report = true; a->summary.report_file = value; break;
	case OPT_FORCE: a->force = true; break;
	case OPT_SOCKETS: a->sockets = true; break;
	case OPT_DEVICE: a->device = true; break;
	case OPT_CPU_TIME: a->cpu_time = true; break;
	case OPT_COLLECTIVES: a->collectives = true; break;
	case OPT_MMAP_FAULTS: a->mmap_faults = true; break;
	case OPT_CALL_SITES: record_arguments_set_call_sites(a, value, cli); break;
	case OPT_NO_CALL_SITES: a->call_sites = 0; break;
	case OPT_ATTACH: set_method(a, value, cli); break;
	case OPT_RING: record_arguments_set_number(&number, "--ring-size", value, cli); a->ring_bytes = number * (1 << 20); break;
	case OPT_PROBES: add_table(a, value, cli); break;
	case OPT_STREAM:
	case OPT_STREAM_INTERVAL:
	case OPT_STREAM_EVENTS:
	case OPT_STREAM_NAMES: set_stream(key, value, a, cli); break;
	default: record_arguments_set_setting(key, value, a, cli);
	}
}

/* Without the command "record" a program must follow "--": a mistyped command is never launched. */
static void set_command(struct record_arguments *a, const struct cli *cli)
{
	if (cli->noperands && cli->bare && !cli->after_dashes)
		cli_error(cli, "unexpected '%s': a command stands before all options, a program to record after "
			"'--'", cli->operands[0]);
	a->command = cli->noperands ? cli->operands : NULL;
}

void record_arguments_parse(struct record_arguments *a, struct cli *cli)
{
	cli_parse(cli, record_arguments_set_option, a);
	set_command(a, cli);
	check_targets(a, cli);
}
