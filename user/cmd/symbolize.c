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

struct arguments { const char *dir; struct symbolize_options where; bool json; };
enum { OPT_DEBUG_DIR = 256, OPT_DEBUGINFOD, OPT_JSON };

static void symbolize_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct arguments *a = input;

	(void)cli;
	switch (key) {
	case OPT_DEBUG_DIR: a->where.debug_dir = value; break;
	case OPT_DEBUGINFOD:
		a->where.debuginfod = true;
		a->where.debuginfod_urls = value;
		break;
	case OPT_JSON: a->json = true; break;
	}
}

static int symbolize_and_write(const struct arguments *a, const struct output *out, char *err, size_t err_len)
{
	struct archive_options archive = { .text = a->json ? NULL : stdout,
					   .json = a->json ? stdout : NULL,
					   .keep_spool = true,
					   .replace = true,
					   .progress = !cli_quiet() };
	char *report = NULL;
	int ret = archive_symbolize(out, &a->where, &report, err, err_len);

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

static bool has_servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
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
	if (a.where.debuginfod && !a.where.debuginfod_urls && !has_servers())
		cli_error(cli, "--debuginfod: no server is known: name it (--debuginfod=URL), or set DEBUGINFOD_URLS, which sudo "
			       "drops");
	debug_dir = a.where.debug_dir ? realpath(a.where.debug_dir, NULL) : NULL;
	if (a.where.debug_dir && !debug_dir) {
		fprintf(stderr, "ioprobe: --debug-dir %s: cannot be used: %s\n", a.where.debug_dir, strerror(errno));
		return 1;
	}
	a.where.debug_dir = debug_dir;
	ret = output_open_as_owner(&out, &owner, a.dir, err, sizeof(err));
	if (!ret)
		ret = symbolize_and_write(&a, &out, err, sizeof(err));
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
	.usage = (const char *const[]){ "[--debug-dir DIR] [--debuginfod[=URLS]] [--json] DIR", NULL },
	.description =
		"Look up the functions and lines of call sites that were unknown when the recording ended, and "
		"rewrite the archive in DIR with them. It needs the records (record --keep-spool), but neither the process nor "
		"its executable: a debug file with the same build-id is enough. Debug files are looked for below the directory of "
		"--debug-dir (.build-id/ab/cdef.debug, or by the program's name), /usr/lib/debug, and beside the program; with "
		"--debuginfod the others are requested from servers and cached as debuginfod-find(1) describes. As root it runs "
		"with the rights of the user that DIR belongs to. Prints the summary; places that were not found go to stderr.",
	.options =
		(const struct cli_option[]){ { "debug-dir", OPT_DEBUG_DIR, "DIR",
					       "Look for debug files in DIR, then in /usr/lib/debug and beside the program", NULL },
					     { "debuginfod", OPT_DEBUGINFOD, "[URLS]",
					       "Ask these debuginfod servers (separated by blanks; default: those of "
					       "DEBUGINFOD_URLS) for debug files that are not found", NULL },
					     { "json", OPT_JSON, NULL, "Print the summary as JSON", NULL },
					     { 0 } },
	.operand = "DIR",
	.run = run_symbolize,
};
