/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe recover DIR: the archive of a recording that was interrupted, from the records in DIR/spool, with the rights of DIR's
 * owner.
 */
#include "cmd/cmd.h"

#include <argp.h>
#include <stdio.h>

#include "archive/archive.h"

struct arguments { const char *dir; bool json; };
enum { OPT_JSON = 256 };

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print the summary as JSON", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_JSON: a->json = true; break;
	case ARGP_KEY_ARG:
		if (a->dir)
			argp_error(state, "more than one directory");
		a->dir = arg;
		break;
	case ARGP_KEY_END:
		if (!a->dir)
			argp_error(state, "the directory of the recording is missing");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int recover(const struct arguments *a)
{
	struct archive_options archive = { .json = a->json, .summary = stdout, .keep_spool = true };
	struct identity owner = { 0 };
	struct output out;
	char err[1024] = "";
	int ret = output_open_as_owner(&out, &owner, a->dir, err, sizeof(err));

	if (!ret)
		ret = archive_write(&out, &archive, err, sizeof(err));
	output_close(&out);
	identity_deinit(&owner);
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", err);
	return ret ? 1 : 0;
}

int cmd_recover(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "DIR", "Make DIR/traces.otf2 from the records of an interrupted recording, DIR/spool. What an interrupted "
		"attempt left is replaced, a complete archive is not. As root: with the rights of the user that DIR belongs to.",
		NULL, NULL, NULL,
	};
	struct arguments a = { 0 };

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	return recover(&a);
}
