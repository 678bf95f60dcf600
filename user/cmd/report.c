/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe report ARCHIVE: reports the problems of a run's I/O, their cost, and the possible saving of a change.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/report_task.h"
#include "cmd/trace_argument.h"
#include "privilege/identity.h"

#define MAX_THRESHOLDS_FILE (1 << 20)
#define STATUS_FOUND 1

enum { OPT_FORMAT = 256, OPT_ALL, OPT_EXPLAIN, OPT_FAIL_ON, OPT_THRESHOLDS, OPT_FILE, OPT_RANK, OPT_FROM, OPT_TO, OPT_FIGURES };

struct command {
	struct trace_argument archive;
	const char *output, *explain, *thresholds_file;
	bool fails;
	struct report_task task;
};

/* ---- command line ---- */

static uint64_t report_seconds(const struct cli *cli, const char *option, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0) || s > 1e9)
		cli_error(cli, "%s %s: seconds from the start of the trace are expected, such as 12.5", option, value);
	return s * 1e9;
}

static void set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct command *c = input;

	switch (key) {
	case OPT_ALL: c->task.options.all = true; break;
	case OPT_FIGURES: c->task.options.figures = true; break;
	case OPT_EXPLAIN: c->explain = value; break;
	case OPT_THRESHOLDS: c->thresholds_file = value; break;
	case 'o': c->output = value; break;
	case OPT_FILE: c->task.filter.file = value; break;
	case OPT_RANK: c->task.filter.rank = cli_number(cli, "--rank", value); break;
	case OPT_FROM: c->task.filter.from_ns = report_seconds(cli, "--from", value); break;
	case OPT_TO: c->task.filter.to_ns = report_seconds(cli, "--to", value); break;
	case OPT_FORMAT:
		c->task.format = report_format_find(value);
		if (!c->task.format)
			cli_error(cli, "--format %s: text, json, html, sarif or csv is expected", value);
		break;
	case OPT_FAIL_ON:
		c->fails = true;
		c->task.severity = !strcmp(value, "warn") ? SEVERITY_WARN : SEVERITY_HIGH;
		if (strcmp(value, "high") && strcmp(value, "warn"))
			cli_error(cli, "--fail-on %s: high or warn is expected", value);
		break;
	}
}

static int read_thresholds(struct command *c, char *err, size_t err_len)
{
	FILE *in = fopen(c->thresholds_file, "re");
	char *text = in ? malloc(MAX_THRESHOLDS_FILE) : NULL;
	size_t n = text ? fread(text, 1, MAX_THRESHOLDS_FILE, in) : 0;
	int ret = 0;

	if (!text) {
		snprintf(err, err_len, "%s: cannot read the thresholds: %s", c->thresholds_file, strerror(errno));
		ret = -EINVAL;
	}
	if (!ret)
		ret = thresholds_read(&c->task.thresholds, text, n, c->thresholds_file, err, err_len);
	free(text);
	if (in)
		fclose(in);
	return ret;
}

/* ---- the report ---- */

static int write_output(const struct command *c, const struct identity *caller)
{
	struct identity_saved saved;
	FILE *out = stdout;
	int ret = 0;

	if (c->output) {
		ret = identity_begin(caller, &saved);
		out = ret ? NULL : fopen(c->output, "we");
		if (!ret && !out)
			ret = -errno;
		if (ret != -EPERM)
			identity_end(&saved);
	}
	if (out && c->task.len && fwrite(c->task.text, 1, c->task.len, out) != c->task.len)
		ret = -errno;
	if (out && (fflush(out) || (out != stdout && fclose(out))) && !ret)
		ret = -errno;
	if (ret)
		fprintf(stderr, "ioprobe: %s: cannot write the report: %s\n", c->output ? c->output : "standard output",
			strerror(-ret));
	return ret;
}

static int report_here(struct command *c, char *err, size_t err_len)
{
	struct identity who = { 0 }, caller = { 0 };
	int ret = c->thresholds_file ? read_thresholds(c, err, err_len) : 0;

	if (!ret)
		ret = trace_argument_locate(&c->archive, err, err_len);
	c->task.anchor = c->archive.anchor;
	if (!ret)
		ret = trace_argument_open(&c->archive, &c->task.dir, &who, err, err_len);
	if (!ret)
		ret = identity_caller(&caller, err, err_len);
	if (report_peers)
		ret = report_peers->agree(report_peers, ret, err);
	if (!ret)
		ret = report_task_run(&c->task, &who, err, err_len);
	if (c->task.dir >= 0)
		close(c->task.dir);
	if (!ret && !(report_peers && report_peers->index))
		ret = write_output(c, &caller) ? -EIO : c->fails && c->task.found ? STATUS_FOUND : 0;
	free(c->task.text);
	identity_deinit(&who);
	identity_deinit(&caller);
	return ret;
}

static int report_explain_code(const struct command *c)
{
	if (!report_explain(stdout, c->explain))
		return 0;
	fprintf(stderr, "ioprobe: --explain %s: there is no such finding; --explain list names all\n", c->explain);
	return CLI_USAGE;
}

static int run_report(struct cli *cli)
{
	struct command c = { 0 };
	char err[4800] = "";
	int ret;

	report_task_init(&c.task, NULL, -1);
	cli_parse(cli, set_option, &c);
	if (c.explain)
		return report_explain_code(&c);
	if (cli->noperands != 1)
		cli_error(cli, "one archive is expected: a directory with traces.otf2, or an .otf2 file");
	c.archive.name = c.task.name = cli->operands[0];
	c.task.options.color = isatty(STDOUT_FILENO) && !c.output && !getenv("NO_COLOR");
	ret = report_here(&c, err, sizeof(err));
	if (ret < 0 && err[0])
		fprintf(stderr, "ioprobe: %s\n", err);
	return ret ? CLI_FAILED : 0;
}

const struct cli_command command_report = {
	.name = "report",
	.statuses = "also 1 with --fail-on, if there is such a finding",
	.summary = "Report the I/O problems of a run, their costs and possible savings",
	.usage = (const char *const[]){ "[OPTION...] ARCHIVE", "--explain CODE", NULL },
	.description =
		"Report the I/O problems of a recorded run, the cost of each on its slowest rank, and what a change may "
		"save. ARCHIVE is a directory that ioprobe recorded or merged, or any .otf2 file with I/O records.\n\n"
		"Neither root nor BPF is needed. Findings are ranked by what may be saved; a fact that is missing in the archive "
		"is named, with the findings that need it. Under sudo the archive is read with the rights of the calling user; "
		"started by root, with those of its owner.\n\n"
		"mpirun -n N ioprobe-mpi report ARCHIVE, which is built where MPI is, reads a large archive with the processes of "
		"several nodes and makes the same report. It takes the same options and refuses to run as root.",
	.options =
		(const struct cli_option[]){
			{ "format", OPT_FORMAT, "text|json|html|sarif|csv", "Write the report in this format", "text" },
			{ "output", 'o', "FILE", "Write the report to FILE", "standard output" },
			{ "all", OPT_ALL, NULL, "Also show findings that cost little, and those that are effects of others", NULL },
			{ "figures", OPT_FIGURES, NULL,
			  "Append to the text: calls per file and layer, handles of a thread, the stacks of two ranks during a "
			  "collective call, and that call's system calls by node (JSON and HTML always have them)",
			  NULL },
			{ "explain", OPT_EXPLAIN, "CODE", "Explain a finding; CODE may also be list, all or thresholds", NULL },
			{ "file", OPT_FILE, "PATTERN", "Judge only data files whose path matches this shell pattern", NULL },
			{ "rank", OPT_RANK, "N", "Judge only calls of this MPI rank", NULL },
			{ "from", OPT_FROM, "TIME",
			  "Judge only calls that begin at this time or later, in seconds from the start of the trace",
			  NULL },
			{ "to", OPT_TO, "TIME",
			  "Judge only calls that begin at this time or earlier, in seconds from the start of the trace",
			  NULL },
			{ "fail-on", OPT_FAIL_ON, "high|warn", "Exit with status 1 if there is a finding of this severity", NULL },
			{ "thresholds", OPT_THRESHOLDS, "FILE",
			  "Read thresholds from a JSON file, such as an earlier report in JSON", NULL },
			{ 0 } },
	.operand = "DIR",
	.run = run_report,
};
