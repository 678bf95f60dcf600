/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe serve: runs the node's service in the foreground.
 */
#include "cmd/commands.h"

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
#include "util/limits.h"

struct arguments { struct server_options server; bool check; };
enum { OPT_STATE = 256, OPT_SOCKET, OPT_NODE, OPT_CHECK };

static void serve_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct arguments *a = input;

	switch (key) {
	case 'P': a->server.policy_path = value; break;
	case OPT_STATE: a->server.state_dir = value; break;
	case OPT_SOCKET: a->server.socket_path = value; break;
	case OPT_NODE:
		if (!state_valid_id(value))
			cli_error(cli, "--node: '%s' is not the name of a node", value);
		a->server.node = value;
		break;
	case OPT_CHECK: a->check = true; break;
	}
}

static int serve_fail(const char *message)
{
	fprintf(stderr, "ioprobe: %s\n", message);
	return 1;
}

static int check_policy(const char *path)
{
	struct policy policy = { 0 };
	char err[512] = "out of memory";
	int ret = path ? policy_read(&policy, path, err, sizeof(err)) : policy_init(&policy);

	if (!ret) {
		printf("%s%s\n", path ? path : "The default policy", path ? ": no mistakes" : " (give a file by --policy):");
		policy_print(&policy, stdout);
	}
	policy_deinit(&policy);
	if (ret)
		return serve_fail(err);
	return fflush(stdout) ? serve_fail("cannot write to standard output") : 0;
}

static int run_serve(struct cli *cli)
{
	struct arguments a = { .server = { .socket_path = DEFAULT_SOCKET, .state_dir = DEFAULT_STATE_DIR } };
	bool broken_policy = false;
	char err[1024] = "";

	cli_parse(cli, serve_set_option, &a);
	if (a.check)
		return check_policy(a.server.policy_path);
	if (geteuid())
		return serve_fail("cannot serve: needs root");
	if (!proc_initial_pid_namespace())
		return serve_fail("cannot serve from inside a pid namespace (container): run ioprobe on the host");
	if (limits_raise_files(err, sizeof(err)))
		return serve_fail(err);
	if (!strcmp(a.server.socket_path, DEFAULT_SOCKET))
		mkdir("/run/ioprobe", 0755);    /* under systemd it already exists */
	umask(022);
	if (!server_run(&a.server, &broken_policy, err, sizeof(err)))
		return 0;
	serve_fail(err);
	return broken_policy ? EX_CONFIG : 1;
}

const struct cli_command command_serve = {
	.name = "serve",
	.summary = "Run the node's service, which records a batch system's jobs",
	.usage = (const char *const []){ "[--policy FILE] [OPTION...]", "--check-policy [--policy FILE]", NULL },
	.description = "Run the node's service in the foreground: it records the jobs that 'ioprobe job' names, each by a process "
		"of its own. SIGHUP reads the policy again, SIGTERM ends the service and leaves the recordings running.",
	.options = (const struct cli_option[]){
		{ "policy", 'P', "FILE",
		  "Read the policy from FILE: which jobs are recorded, to which directory, with which limits", "jobs with the "
			  "comment 'ioprobe'" },
		{ "state", OPT_STATE, "DIR", "Keep the state of the jobs in DIR", DEFAULT_STATE_DIR },
		{ "socket", OPT_SOCKET, "FILE", "Listen on this socket", DEFAULT_SOCKET },
		{ "node", OPT_NODE, "NAME",
		  "Record only the processes of SLURM's node NAME; for tests in which several nodes share one kernel", NULL },
		{ "check-policy", OPT_CHECK, NULL, "Check the policy, print its rules and settings, and exit", NULL },
		{ 0 }
	},
	.statuses = "78 (the policy is invalid: a restart does not help)",
	.run = run_serve,
};
