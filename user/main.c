/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Picks the command; without one, ioprobe records.
 */
#include <argp.h>
#include <string.h>

#include "capture/launch.h"
#include "cmd/cmd.h"
#include "parse/parse.h"
#include "service/job_recorder.h"

#ifndef IOPROBE_VERSION
#define IOPROBE_VERSION "0.1"
#endif

const char *argp_program_version = "ioprobe " IOPROBE_VERSION;

static const struct { const char *name; int (*run)(int argc, char **argv); } commands[] = {
	{ "check", cmd_check },
	{ "merge", cmd_merge },
	{ "probes", cmd_probes },
	{ "recover", cmd_recover },
	{ "serve", cmd_serve },
	{ "job", cmd_job },
	{ RECORDER_COMMAND, job_recorder_main },
	{ PARSE_COMMAND, parse_process_main },
};

int main(int argc, char **argv)
{
	launch_keep_inherited();
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return cmd_record(argc, argv);
}
