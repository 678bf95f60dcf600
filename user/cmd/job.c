/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe job start|stop|status|version: requests to the node's service from a batch system's prolog and epilog, and from users.
 * Never waits longer than its time limit: starting the job is more important than recording it.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/job_status.h"
#include "service/wire.h"

#define PROLOG_LIMIT_MS 90      /* for a prolog or epilog */
#define USER_LIMIT_MS 5000
#define MAX_LIMIT_MS 3600000

struct arguments { const char *request, *socket; json_t *message; int limit_ms; bool json; };
enum { OPT_SOCKET = 256, OPT_TIMEOUT, OPT_JSON, OPT_UID, OPT_GID, OPT_ENTRY, OPT_ALWAYS };

static void job_append(struct arguments *a, const char *key, json_t *value)
{
	json_t *array = json_object_get(a->message, key);

	if (!array) {
		array = json_array();
		json_object_set_new(a->message, key, array);
	}
	json_array_append_new(array, value);
}

static void job_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct arguments *a = input;

	switch (key) {
	case 'j': json_object_set_new(a->message, "job", json_string(value)); break;
	case 'p': job_append(a, "pids", json_integer(cli_pid(cli, "--pid", value))); break;
	case OPT_SOCKET: a->socket = value; break;
	case OPT_TIMEOUT: a->limit_ms = cli_number(cli, "--timeout", value); break;
	case OPT_JSON: a->json = true; break;
	case OPT_UID: json_object_set_new(a->message, "uid", json_integer(cli_number(cli, "--uid", value))); break;
	case OPT_GID: json_object_set_new(a->message, "gid", json_integer(cli_number(cli, "--gid", value))); break;
	case OPT_ENTRY:
		if (!strchr(value, '=') || strlen(value) > 126)
			cli_error(cli, "--entry: '%s' is not NAME=VALUE of at most 126 bytes", value);
		job_append(a, "entries", json_string(value));
		break;
	case OPT_ALWAYS: json_object_set_new(a->message, "always", json_true()); break;
	}
}

static const char *const requests[] = { "start", "stop", "status", "version", NULL };

static const char *next_request(void *arg, size_t i)
{
	(void)arg;
	return requests[i];
}

static void set_request(struct arguments *a, const struct cli *cli)
{
	const char *word = cli->operands[0], *meant;

	if (!word)
		cli_error(cli, "nothing to do: give start, stop, status or version");
	for (size_t i = 0; requests[i]; i++)
		if (!strcmp(word, requests[i]))
			a->request = requests[i];
	meant = a->request ? NULL : cli_nearest(word, next_request, NULL);
	if (meant)
		cli_error(cli, "unexpected '%s': did you mean '%s'?", word, meant);
	if (!a->request || cli->noperands > 1)
		cli_error(cli, "unexpected '%s': give one of start, stop, status, version", a->request ? cli->operands[1] : word);
	if (a->limit_ms < 0 || a->limit_ms > MAX_LIMIT_MS)
		cli_error(cli, "--timeout: more than %d milliseconds", MAX_LIMIT_MS);
}

/* ---- the request ---- */

/* A prolog must not delay the job. At a terminal, or for other users than root, there is time to load a recorder. */
static int default_limit_ms(const struct arguments *a)
{
	bool prolog = !geteuid() && !isatty(STDIN_FILENO) && !isatty(STDERR_FILENO);

	return prolog && strcmp(a->request, "status") ? PROLOG_LIMIT_MS : USER_LIMIT_MS;
}

/* The programs of all components of a heterogeneous job have the id of the first one; each component's prolog has its own id, and
 * that one. */
static const char *job_id(void)
{
	return getenv("SLURM_HET_JOB_ID") ?: getenv("SLURM_JOB_ID");
}

/* Variables in slurmd's prologs, see the "Prolog and Epilog Guide"; they have the same names in a job. */
static void add_environment(json_t *message)
{
	static const struct { const char *key, *name; bool number; } variables[] = {
		{ "uid", "SLURM_JOB_UID", true }, { "gid", "SLURM_JOB_GID", true },
		{ "user", "SLURM_JOB_USER", false }, { "account", "SLURM_JOB_ACCOUNT", false },
		{ "comment", "SLURM_JOB_COMMENT", false },
		{ "node", "SLURMD_NODENAME", false }, { "cluster", "SLURM_CLUSTER_NAME", false },
		{ "work_dir", "SLURM_JOB_WORK_DIR", false },
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i].name);

		if (!value || json_object_get(message, variables[i].key))
			continue;
		json_object_set_new(message, variables[i].key,
				    variables[i].number ? json_integer(atoll(value)) : json_string(value));
	}
}

/* Recordings of processes without a job get a name of their own, and belong to the processes' owner. */
static void name_processes(json_t *message)
{
	long long pid = json_integer_value(json_array_get(json_object_get(message, "pids"), 0));
	char path[64];
	struct stat st;

	if (!pid)
		return;
	json_object_set_new(message, "job", json_sprintf("pid-%lld", pid));
	snprintf(path, sizeof(path), "/proc/%lld", pid);
	if (json_object_get(message, "uid") || stat(path, &st))
		return;
	json_object_set_new(message, "uid", json_integer(st.st_uid));
	json_object_set_new(message, "gid", json_integer(st.st_gid));
}

static void add_host(json_t *message)
{
	char host[256] = "";

	if (json_object_get(message, "node") || gethostname(host, sizeof(host) - 1))
		return;
	host[strcspn(host, ".")] = 0;
	json_object_set_new(message, "node", json_string(host));
}

static void job_complete(struct arguments *a)
{
	bool start = !strcmp(a->request, "start");

	json_object_set_new(a->message, "request", json_string(a->request));
	if (start && !json_object_get(a->message, "job"))
		name_processes(a->message);
	if ((start || !strcmp(a->request, "stop")) && job_id() && !json_object_get(a->message, "job"))
		json_object_set_new(a->message, "job", json_string(job_id()));
	if (!start)
		return;
	add_environment(a->message);
	add_host(a->message);
}

/* ---- the answer ---- */

static const char *reason_of(int err)
{
	switch (err) {
	case -EAGAIN: return "no answer in time: give a longer --timeout, or see 'ioprobe job status' later";
	case -ENOENT:
	case -ECONNREFUSED: return "no service listens there: start 'ioprobe serve', or give its --socket";
	case -ENODATA:
	case -ECONNRESET: return "the service closed the connection without an answer: try again; the reason is in its log";
	default: return strerror(-err);
	}
}

static int job_refuse(const char *socket, int err)
{
	fprintf(stderr, "ioprobe: %s: %s\n", socket, reason_of(err));
	return 1;
}

static void print_status(const json_t *job, bool json, bool first)
{
	if (!json) {
		job_status_print(job, first);
		return;
	}
	json_dumpf(job, stdout, JSON_COMPACT | JSON_SORT_KEYS);
	putchar('\n');
}

static int job_take_answer(const json_t *answer, const struct arguments *a, bool first)
{
	bool ok = json_is_true(json_object_get(answer, "ok"));

	if (!ok)
		fprintf(stderr, "ioprobe: %s\n", wire_text(answer, "message"));
	else if (!strcmp(a->request, "status"))
		print_status(answer, a->json, first);
	else
		printf("%s\n", wire_text(answer, "message"));
	return !ok;
}

/* Reads one answer, or the packets of a status up to the one with "end". Returns 0 or -errno; *ended: the answer is complete. */
static int take_answers(int fd, const struct arguments *a, bool *ended, int *answers, int *ret)
{
	bool status = !strcmp(a->request, "status");
	int err = 0;

	while (!err && !*ended) {
		json_t *answer;

		err = wire_receive(fd, WIRE_MAX_BYTES, &answer);
		if (err)
			break;
		*ended = json_is_true(json_object_get(answer, "end"));
		if (!*ended) {
			*ret |= job_take_answer(answer, a, !*answers);
			++*answers;
			*ended = !status || !json_is_true(json_object_get(answer, "ok"));
		}
		json_decref(answer);
	}
	return err;
}

static int job_ask(const struct arguments *a)
{
	int fd = wire_connect(a->socket, a->limit_ms), err, ret = 0, answers = 0;
	bool ended = false;

	if (fd < 0)
		return job_refuse(a->socket, fd);
	err = wire_send(fd, a->message);
	if (!err || err == -EPIPE)
		err = take_answers(fd, a, &ended, &answers, &ret);      /* a refused connection is answered before the request */
	close(fd);
	if (err)
		return job_refuse(a->socket, err);
	if (!answers && !strcmp(a->request, "status") && json_object_get(a->message, "job")) {
		fprintf(stderr, "ioprobe: job %s is not known to the service\n", wire_text(a->message, "job"));
		return 1;
	}
	return ret;
}

static int run_job(struct cli *cli)
{
	struct arguments a = { .socket = getenv("IOPROBE_SOCKET") ?: DEFAULT_SOCKET, .message = json_object() };
	int ret;

	cli_parse(cli, job_set_option, &a);
	set_request(&a, cli);
	if (!a.limit_ms)
		a.limit_ms = default_limit_ms(&a);
	job_complete(&a);
	if (strcmp(a.request, "status") && strcmp(a.request, "version") && !*wire_text(a.message, "job"))
		cli_error(cli, "no job: give --job ID, or call it where SLURM_JOB_ID is set");
	ret = job_ask(&a);
	json_decref(a.message);
	return ret;
}

const struct cli_command command_job = {
	.name = "job",
	.summary = "Ask the node's service to start or stop recording a job, or for its status",
	.usage = (const char *const []){
		"start [--job ID | --pid PID...] [OPTION...]",
		"stop [--job ID]",
		"status [--job ID] [--json]",
		"version",
		NULL
	},
	.description = "Send a request to the node's service ('ioprobe serve'): for the prolog and epilog of a batch system, and "
		"for users who want their own processes recorded. status prints one line for each job that the caller may see.",
	.options = (const struct cli_option[]){
		{ "job", 'j', "JOBID", "Name the job", "$SLURM_HET_JOB_ID or $SLURM_JOB_ID" },
		{ "socket", OPT_SOCKET, "FILE", "Connect to this socket of the service", "$IOPROBE_SOCKET or " DEFAULT_SOCKET },
		{ "timeout", OPT_TIMEOUT, "MS",
		  "Wait at most MS milliseconds for an answer", "5000; 90 for root without a terminal, as in a prolog" },
		{ "json", OPT_JSON, NULL, "Print the status as JSON, one object per line", NULL },
		{ NULL, 0, NULL, "Options of 'start' (defaults come from the SLURM_* environment)", NULL },
		{ "uid", OPT_UID, "UID", "Record for this user (root only)", NULL },
		{ "gid", OPT_GID, "GID", "Record for this group (root only)", NULL },
		{ "entry", OPT_ENTRY, "NAME=VALUE",
		  "Recognise the job's programs by this entry of their environment; may be repeated", "SLURM_JOB_ID=ID" },
		{ "pid", 'p', "PID", "Record this process and its descendants instead; may be repeated", NULL },
		{ "always", OPT_ALWAYS, NULL, "Record the job even if the policy excludes it (root only)", NULL },
		{ 0 }
	},
	.operand = "start|stop|status|version",
	.statuses = "also 1 if the service refuses the request or does not answer",
	.run = run_job,
};
