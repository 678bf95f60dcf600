/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe job start|stop|status|version: what a batch system's prolog and epilog, and users, say to the node's service. It never
 * waits longer than its limit: a job that is not recorded is better than one that does not start.
 */
#include "cmd/cmd.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/wire.h"

#define DEFAULT_LIMIT_MS 90     /* of a prolog and an epilog */
#define USER_LIMIT_MS 5000      /* of a user, who may get a recorder that has to be loaded first; and of status */

struct arguments { const char *request, *socket; json_t *message; int limit_ms; bool json; };
enum { OPT_SOCKET = 256, OPT_TIMEOUT, OPT_JSON, OPT_UID, OPT_GID, OPT_ENTRY, OPT_ALWAYS };

static const struct argp_option options[] = {
	{ "job", 'j', "ID", 0, "The job (default: $SLURM_HET_JOB_ID or $SLURM_JOB_ID)", 0 },
	{ "socket", OPT_SOCKET, "PATH", 0, "Of the service (default: $IOPROBE_SOCKET or " DEFAULT_SOCKET ")", 0 },
	{ "timeout", OPT_TIMEOUT, "MS", 0, "Longest wait for an answer (default: 90 for root, 5000 for users; status: 5000)", 0 },
	{ "json", OPT_JSON, NULL, 0, "status: print JSON, one object per line", 0 },
	{ NULL, 0, NULL, 0, "Of start; what is not given is taken from SLURM's variables:", 1 },
	{ "uid", OPT_UID, "UID", 0, "The job's user (root only)", 1 },
	{ "gid", OPT_GID, "GID", 0, "The job's group (root only)", 1 },
	{ "entry", OPT_ENTRY, "NAME=VALUE", 0, "Recognise the job's programs by this in their environment (default: SLURM_JOB_ID=ID; may be "
	  "repeated)", 1 },
	{ "pid", 'p', "PID", 0, "Record this process and what descends from it instead (may be repeated)", 1 },
	{ "always", OPT_ALWAYS, NULL, 0, "Whatever the policy says of this job (root only)", 1 },
	{ 0 }
};

static void set_number(struct arguments *a, const char *key, const char *text, struct argp_state *state)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	if (end == text || *end || number < 0 || number > UINT32_MAX)
		argp_error(state, "--%s: '%s' is not a number", key, text);
	json_object_set_new(a->message, key, json_integer(number));
}

static void append(struct arguments *a, const char *key, json_t *value)
{
	json_t *array = json_object_get(a->message, key);

	if (!array) {
		array = json_array();
		json_object_set_new(a->message, key, array);
	}
	json_array_append_new(array, value);
}

static void add_pid(struct arguments *a, const char *text, struct argp_state *state)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > 4194304)
		argp_error(state, "--pid: '%s' is not a process id", text);
	append(a, "pids", json_integer(pid));
}

static void set_limit(struct arguments *a, const char *text, struct argp_state *state)
{
	char *end;
	long limit = strtol(text, &end, 10);

	if (end == text || *end || limit <= 0 || limit > 3600000)
		argp_error(state, "--timeout: '%s' is not a number of milliseconds", text);
	a->limit_ms = limit;
}

static void set_request(struct arguments *a, const char *word, struct argp_state *state)
{
	static const char *const requests[] = { "start", "stop", "status", "version" };

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]) && !a->request; i++)
		if (!strcmp(word, requests[i])) {
			a->request = word;
			return;
		}
	argp_error(state, "unexpected '%s': give one of start, stop, status, version", word);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'j': json_object_set_new(a->message, "job", json_string(arg)); break;
	case 'p': add_pid(a, arg, state); break;
	case OPT_SOCKET: a->socket = arg; break;
	case OPT_TIMEOUT: set_limit(a, arg, state); break;
	case OPT_JSON: a->json = true; break;
	case OPT_UID: set_number(a, "uid", arg, state); break;
	case OPT_GID: set_number(a, "gid", arg, state); break;
	case OPT_ENTRY:
		if (!strchr(arg, '=') || strlen(arg) > 126)
			argp_error(state, "--entry: '%s' is not NAME=VALUE of at most 126 bytes", arg);
		append(a, "entries", json_string(arg));
		break;
	case OPT_ALWAYS: json_object_set_new(a->message, "always", json_true()); break;
	case ARGP_KEY_ARG: set_request(a, arg, state); break;
	case ARGP_KEY_END:
		if (!a->request)
			argp_error(state, "nothing to do: give start, stop, status or version");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "start\nstop\nstatus\nversion",
	"Speaks to the node's service (ioprobe serve): for the prolog and epilog of a batch system, and for users who want their own processes "
	"recorded. Exit status: 0, 1 (refused, or no service), 2 (usage).", NULL, NULL, NULL,
};

/* ---- the request ---- */

/* The programs of a heterogeneous job's components all have the id of the first one; their prologs have each its own, and that
 * one. */
static const char *job_id(void)
{
	return getenv("SLURM_HET_JOB_ID") ?: getenv("SLURM_JOB_ID");
}

/* Variables of slurmd's prologs, see the "Prolog and Epilog Guide"; in a job itself they have the same names. */
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

/* Without a job, processes have a name of their own, and are their owner's. */
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

static void complete(struct arguments *a)
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
	case -ECONNRESET: return "the service hung up without an answer: try again, its log says why";
	default: return strerror(-err);
	}
}

static int refuse(const char *socket, int err)
{
	fprintf(stderr, "ioprobe: %s: %s\n", socket, reason_of(err));
	return 1;
}

static void print_status(const json_t *job, bool json)
{
	if (json) {
		json_dumpf(job, stdout, JSON_COMPACT | JSON_SORT_KEYS);
		putchar('\n');
		return;
	}
	printf("%-12s %-10s %-10s %s%s%s\n", wire_text(job, "id"), wire_text(job, "user"), wire_text(job, "phase"),
	       strchr(wire_text(job, "output"), '%') ? "" : wire_text(job, "output"), *wire_text(job, "message") ? "  " : "",
	       wire_text(job, "message"));
}

static int take_answer(const json_t *answer, const struct arguments *a)
{
	bool ok = json_is_true(json_object_get(answer, "ok"));

	if (!ok)
		fprintf(stderr, "ioprobe: %s\n", wire_text(answer, "message"));
	else if (!strcmp(a->request, "status"))
		print_status(answer, a->json);
	else
		printf("%s\n", wire_text(answer, "message"));
	return !ok;
}

/* One answer, or packets of a status until the one with "end". Returns 0 or -errno; *ended: the service has said all. */
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
			*ret |= take_answer(answer, a);
			++*answers;
			*ended = !status || !json_is_true(json_object_get(answer, "ok"));
		}
		json_decref(answer);
	}
	return err;
}

static int ask(const struct arguments *a)
{
	int fd = wire_connect(a->socket, a->limit_ms), err, ret = 0, answers = 0;
	bool ended = false;

	if (fd < 0)
		return refuse(a->socket, fd);
	err = wire_send(fd, a->message);
	if (!err || err == -EPIPE)
		err = take_answers(fd, a, &ended, &answers, &ret);      /* a refused connection has its answer before the request */
	close(fd);
	if (err)
		return refuse(a->socket, err);
	if (!answers && !strcmp(a->request, "status") && json_object_get(a->message, "job")) {
		fprintf(stderr, "ioprobe: nothing is known of job %s\n", wire_text(a->message, "job"));
		return 1;
	}
	return ret;
}

int cmd_job(int argc, char **argv)
{
	struct arguments a = { .socket = getenv("IOPROBE_SOCKET") ?: DEFAULT_SOCKET, .message = json_object() };
	int ret;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (!a.limit_ms)
		a.limit_ms = geteuid() || !strcmp(a.request, "status") ? USER_LIMIT_MS : DEFAULT_LIMIT_MS;
	complete(&a);
	if (strcmp(a.request, "status") && strcmp(a.request, "version") && !*wire_text(a.message, "job")) {
		fprintf(stderr, "ioprobe: no job: give --job ID, or call it where SLURM_JOB_ID is set\n");
		ret = 2;
	} else {
		ret = ask(&a);
	}
	json_decref(a.message);
	return ret;
}
