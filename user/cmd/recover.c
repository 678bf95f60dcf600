/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe recover DIR: makes the archive of an interrupted recording, from the records in DIR/spool, with the rights of DIR's
 * owner.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"

struct arguments { const char *dir; bool json, all_files; };
enum { OPT_JSON = 256, OPT_ALL_FILES };

static void recover_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct arguments *a = input;

	(void)cli, (void)value;
	a->json |= key == OPT_JSON;
	a->all_files |= key == OPT_ALL_FILES;
}

static int recover_here(const struct arguments *a)
{
	struct archive_options archive = { .text = a->json ? NULL : stdout,
					   .json = a->json ? stdout : NULL,
					   .all_files = a->all_files,
					   .keep_spool = true,
					   .progress = !cli_quiet() };
	struct identity owner = { 0 };
	struct output out;
	char err[1024] = "";
	int ret = output_open_as_owner(&out, &owner, a->dir, err, sizeof(err));

	if (!ret)
		ret = archive_write(&out, &archive, err, sizeof(err));
	if (!ret && (fflush(stdout) || ferror(stdout))) {
		snprintf(err, sizeof(err), "the summary cannot be written to stdout: %s", strerror(errno));
		ret = -EIO;
	}
	output_close(&out);
	identity_deinit(&owner);
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", err);
	return ret ? 1 : 0;
}

static int run_recover(struct cli *cli)
{
	struct arguments a = { 0 };

	cli_parse(cli, recover_set_option, &a);
	if (cli->noperands != 1)
		cli_error(cli, cli->noperands ? "more than one directory" : "the directory of the recording is missing");
	a.dir = cli->operands[0];
	return recover_here(&a);
}

const struct cli_command command_recover = {
	.name = "recover",
	.summary = "Make the archive of an interrupted recording",
	.usage = (const char *const[]){ "[--json|--all-files] DIR", NULL },
	.description =
		"Make DIR/traces.otf2 from the records of an interrupted recording, DIR/spool, and print the summary. "
		"Files of an interrupted attempt are replaced, a complete archive is not. As root it runs with the rights of the "
		"user "
		"that DIR belongs to.",
	.options = (const struct cli_option[]){ { "all-files", OPT_ALL_FILES, NULL,
						  "List files of the system (/proc, /sys, /etc) and libraries in the text, too",
						  NULL },
						{ "json", OPT_JSON, NULL, "Print the summary as JSON", NULL },
						{ 0 } },
	.operand = "DIR",
	.run = run_recover,
};
