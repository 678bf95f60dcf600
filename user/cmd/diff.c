/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe diff A B: compares two recorded runs.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/trace_argument.h"
#include "privilege/identity.h"
#include "privilege/worker.h"
#include "report/diff.h"

struct pair { struct trace_argument of[2]; };

static int diff_analyse(const struct trace_argument *argument, struct analysis *a, char *err, size_t err_len)
{
	static struct trace traces[2];
	static struct facts facts[2];
	static int n;
	const struct facts_filter all = { NULL, -1, 0, UINT64_MAX };
	int turn = n++, ret = trace_open(&traces[turn], argument->name, argument->anchor, err, err_len);

	thresholds_default(&a->thresholds);
	if (!ret)
		ret = facts_read(&facts[turn], &traces[turn], &all, trace_argument_workers(), NULL, err, err_len);
	return ret ? ret : analysis_run(a, &facts[turn], err, err_len);
}

/* Runs in the directory of the first archive. The process ends here: nothing is freed. */
static int diff_run(void *arg, FILE *text, char *err, size_t err_len)
{
	const struct pair *pair = arg;
	struct analysis a = { 0 }, b = { 0 };
	int ret = diff_analyse(&pair->of[0], &a, err, err_len);

	if (!ret && chdir(pair->of[1].dir)) {
		ret = -errno;
		snprintf(err, err_len, "%s: cannot open it: %s", pair->of[1].name, strerror(-ret));
	}
	if (!ret)
		ret = diff_analyse(&pair->of[1], &b, err, err_len);
	return ret ? ret : report_write_diff(text, &a, &b);
}

static void diff_set_option(struct cli *cli, int key, const char *value, void *input)
{
	(void)cli, (void)key, (void)value, (void)input;
}

static int diff_here(struct pair *pair, char **text, size_t *len, char *err, size_t err_len)
{
	struct worker worker = { .dir = -1, .what = "reading the archives", .run = diff_run, .arg = pair, .threads = true };
	struct identity who = { 0 };
	int ret = trace_argument_locate(&pair->of[0], err, err_len);

	if (!ret)
		ret = trace_argument_locate(&pair->of[1], err, err_len);
	if (!ret)
		ret = trace_argument_open(&pair->of[0], &worker.dir, &who, err, err_len);
	worker.who = &who;
	if (!ret)
		ret = worker_run(&worker, text, len, err, err_len);
	if (worker.dir >= 0)
		close(worker.dir);
	identity_deinit(&who);
	return ret;
}

static int run_diff(struct cli *cli)
{
	struct pair pair = { 0 };
	char err[4800] = "", *text = NULL;
	size_t len = 0;
	int ret;

	cli_parse(cli, diff_set_option, NULL);
	if (cli->noperands != 2)
		cli_error(cli, "two archives are expected");
	pair.of[0].name = cli->operands[0];
	pair.of[1].name = cli->operands[1];
	ret = diff_here(&pair, &text, &len, err, sizeof(err));
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", err);
	else if (fwrite(text, 1, len, stdout) != len || fflush(stdout))
		ret = -EIO;
	free(text);
	return ret ? CLI_FAILED : 0;
}

const struct cli_command command_diff = {
	.name = "diff",
	.summary = "Compare two recorded runs: layers, files and findings",
	.usage = (const char *const[]){ "ARCHIVE ARCHIVE", NULL },
	.description = "Compare two recorded runs: calls, bytes and times of each layer and data file, findings that are gone and "
		       "new. Files are matched by name, without directory.\n\n"
		       "Times differ between two runs of the same program, too: a change of time alone says little.",
	.operand = "DIR",
	.run = run_diff,
};
