/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe merge -o DIR NODE_DIR…: one archive of a job from those of its nodes.
 */
#include "cmd/cmd.h"

#include <argp.h>
#include <stddef.h>
#include <stdio.h>

#include "merge/rights.h"
#include "merge/run.h"

enum { OPT_JSON = 256, OPT_SAME_JOB };

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0, "Folder for the archive DIR/traces.otf2; must not exist, or be empty", 0 },
	{ "json", OPT_JSON, NULL, 0, "Say what was merged as JSON", 0 },
	{ "same-job", OPT_SAME_JOB, NULL, 0, "The archives are of one job, also where they do not say so", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge_options *o = state->input;

	switch (key) {
	case 'o': o->out = arg; break;
	case OPT_JSON: o->json = true; break;
	case OPT_SAME_JOB: o->same_job = true; break;
	case ARGP_KEY_ARGS:
		o->dirs = state->argv + state->next;
		o->ndirs = state->argc - state->next;
		break;
	case ARGP_KEY_END:
		if (!o->out)
			argp_error(state, "the folder for the result is missing: -o DIR");
		if (!o->ndirs)
			argp_error(state, "the nodes' folders are missing");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cmd_merge(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "-o DIR NODE_DIR...",
		"Makes one archive of a job from those that ioprobe recorded on its nodes: one system tree, ranks over all nodes, one definition of "
		"what the nodes share. Events are linked, not rewritten. Under mpirun or srun the processes share the work. Under sudo it runs as "
		"the calling user; root merges archives of root's only.",
		NULL, NULL, NULL,
	};
	struct merge_options o = { 0 };
	char err[4800] = "";

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!merge_take_rights(&o, err, sizeof(err)))
		return merge_run(&o);
	fprintf(stderr, "ioprobe: %s\n", err);
	return 1;
}
