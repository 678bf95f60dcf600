/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe symbolize DIR: functions and lines that were not there when the recording ended, and the archive with them.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/symbolize.h"

struct arguments { const char *dir, *debug_dir; bool json; };
enum { OPT_DEBUG_DIR = 256, OPT_JSON };

static void symbolize_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct arguments *a = input;

	(void)cli;
	if (key == OPT_DEBUG_DIR)
		a->debug_dir = value;
	else
		a->json = true;
}

static int symbolize_and_write(const struct arguments *a, const struct output *out, const char *debug_dir, char *err,
			       size_t err_len)
{
	struct archive_options archive = { .text = a->json ? NULL : stdout,
					   .json = a->json ? stdout : NULL,
					   .keep_spool = true,
					   .replace = true,
					   .progress = !cli_quiet() };
	char *report = NULL;
	int ret = archive_symbolize(out, debug_dir, &report, err, err_len);

	if (!ret && !cli_quiet() && report)
		fputs(report, stderr);
	free(report);
	if (!ret)
		ret = archive_write(out, &archive, err, err_len);
	if (!ret && (fflush(stdout) || ferror(stdout))) {
		snprintf(err, err_len, "the summary cannot be written to stdout: %s", strerror(errno));
		ret = -EIO;
	}
	return ret;
}

static int run_symbolize(struct cli *cli)
{
	struct arguments a = { 0 };
	struct identity owner = { 0 };
	char err[1024] = "", *debug_dir;
	struct output out;
	int ret;

	cli_parse(cli, symbolize_set_option, &a);
	if (cli->noperands != 1)
		cli_error(cli, cli->noperands ? "more than one directory" : "the directory of the recording is missing");
	a.dir = cli->operands[0];
	debug_dir = a.debug_dir ? realpath(a.debug_dir, NULL) : NULL;
	if (a.debug_dir && !debug_dir) {
		fprintf(stderr, "ioprobe: --debug-dir %s: cannot be used: %s\n", a.debug_dir, strerror(errno));
		return 1;
	}
	ret = output_open_as_owner(&out, &owner, a.dir, err, sizeof(err));
	if (!ret)
		ret = symbolize_and_write(&a, &out, debug_dir, err, sizeof(err));
	output_close(&out);
	identity_deinit(&owner);
	free(debug_dir);
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", err);
	return ret ? 1 : 0;
}

const struct cli_command command_symbolize = {
	.name = "symbolize",
	.summary = "Look up lines of call sites after the recording, from debug files",
	.usage = (const char *const[]){ "[--debug-dir DIR] [--json] DIR", NULL },
	.description =
		"Look up the functions and lines of call sites (--call-sites) that were unknown when the recording ended, and "
		"rewrite the archive in DIR with them. It needs the records (record --keep-spool), but neither the process nor "
		"its executable: a debug file with the same build-id is enough. Debug files are looked for below the directory of "
		"--debug-dir (.build-id/ab/cdef.debug, or by the program's name), /usr/lib/debug, and beside the program. As root "
		"it runs with the rights of the user that DIR belongs to. The summary is printed, and on stderr the places that "
		"were not found.",
	.options =
		(const struct cli_option[]){ { "debug-dir", OPT_DEBUG_DIR, "DIR",
					       "Look for debug files in DIR, then in /usr/lib/debug and beside the program", NULL },
					     { "json", OPT_JSON, NULL, "Print the summary as JSON", NULL },
					     { 0 } },
	.operand = "DIR",
	.run = run_symbolize,
};
