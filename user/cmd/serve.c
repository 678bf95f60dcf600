/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe serve: the node's service, in the foreground.
 */
#include "cmd/cmd.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "service/policy.h"
#include "service/server.h"
#include "service/state.h"
#include "service/wire.h"

struct arguments { struct server_options server; bool check; };
enum { OPT_STATE = 256, OPT_SOCKET, OPT_NODE, OPT_CHECK };

static const struct argp_option options[] = {
	{ "policy", 'P', "FILE", 0, "Which jobs are recorded, where to, at what cost (default: those with the comment 'ioprobe')", 0 },
	{ "state", OPT_STATE, "DIR", 0, "What the service keeps of its jobs (default: " DEFAULT_STATE_DIR ")", 0 },
	{ "socket", OPT_SOCKET, "PATH", 0, "Where it listens (default: " DEFAULT_SOCKET ")", 0 },
	{ "node", OPT_NODE, "NAME", 0, "Record only what SLURM started on this of its nodes, where several share a kernel", 0 },
	{ "check-policy", OPT_CHECK, NULL, 0, "Only read the policy", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'P': a->server.policy_path = arg; break;
	case OPT_STATE: a->server.state_dir = arg; break;
	case OPT_SOCKET: a->server.socket_path = arg; break;
	case OPT_NODE:
		if (!state_valid_id(arg))
			argp_error(state, "--node: '%s' is not the name of a node", arg);
		a->server.node = arg;
		break;
	case OPT_CHECK: a->check = true; break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int fail(const char *message)
{
	fprintf(stderr, "ioprobe: %s\n", message);
	return 1;
}

static int check_policy(const char *path)
{
	struct policy policy = { 0 };
	char err[512] = "no policy: give --policy FILE";
	int ret = path ? policy_read(&policy, path, err, sizeof(err)) : 1;

	if (path)
		policy_deinit(&policy);
	return ret ? fail(err) : 0;
}

int cmd_serve(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, NULL, "The node's service: records the jobs that 'ioprobe job' names, each by a process of its own. Runs in the "
		"foreground; SIGHUP reads the policy again, SIGTERM ends the service and leaves the recordings running. Exit status: 0, 1 (failed), "
		"2 (usage), 78 (the policy is broken: starting again does not help).", NULL, NULL, NULL,
	};
	struct arguments a = { .server = { .socket_path = DEFAULT_SOCKET, .state_dir = DEFAULT_STATE_DIR } };
	bool broken_policy = false;
	char err[1024] = "";

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.check)
		return check_policy(a.server.policy_path);
	if (geteuid())
		return fail("cannot serve: needs root");
	if (!proc_initial_pid_namespace())
		return fail("cannot serve from inside a pid namespace (container): run ioprobe on the host");
	if (!strcmp(a.server.socket_path, DEFAULT_SOCKET))
		mkdir("/run/ioprobe", 0755);    /* systemd has made it already */
	umask(022);
	if (!server_run(&a.server, &broken_policy, err, sizeof(err)))
		return 0;
	fail(err);
	return broken_policy ? EX_CONFIG : 1;
}
