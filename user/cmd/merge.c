/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe merge -o DIR NODE_DIR…: merges the archives of a job's nodes into one.
 */
#include "cmd/commands.h"

#include <stddef.h>
#include <stdio.h>

#include "merge/rights.h"
#include "merge/run.h"

enum { OPT_JSON = 256, OPT_SAME_JOB };

static void merge_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct merge_options *o = input;

	(void)cli;
	switch (key) {
	case 'o': o->out = value; break;
	case OPT_JSON: o->json = true; break;
	case OPT_SAME_JOB: o->same_job = true; break;
	}
}

static int run_merge(struct cli *cli)
{
	struct merge_options o = { 0 };
	char err[4800] = "";

	cli_parse(cli, merge_set_option, &o);
	if (!o.out)
		cli_error(cli, "the directory for the result is missing: -o DIR");
	if (!cli->noperands)
		cli_error(cli, "the nodes' directories are missing");
	o.dirs = cli->operands;
	o.ndirs = cli->noperands;
	if (!merge_take_rights(&o, err, sizeof(err)))
		return merge_run(&o);
	fprintf(stderr, "ioprobe: %s\n", err);
	return CLI_FAILED;
}

const struct cli_command command_merge = {
	.name = "merge",
	.summary = "Merge the archives of a job's nodes into one",
	.usage = (const char *const []){ "[--json] [--same-job] -o DIR NODE_DIR...", NULL },
	.description = "Merge the archives that ioprobe recorded on a job's nodes into one: one system tree, ranks over all "
		"nodes, one definition of each shared file. Events are linked, not rewritten.\n\n"
		"Under sudo it runs as the calling user; root merges only archives that belong to root.",
	.options = (const struct cli_option[]){
		{ "output", 'o', "DIR", "Write the archive to DIR/traces.otf2; DIR must be empty, or not exist", NULL },
		{ "json", OPT_JSON, NULL, "Print a summary of the merge as JSON", NULL },
		{ "same-job", OPT_SAME_JOB, NULL,
		  "Merge the archives even if they do not name the same job", NULL },
		{ 0 }
	},
	.operand = "DIR",
	.run = run_merge,
};
