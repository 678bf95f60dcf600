/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * All commands, in the order in which the help lists them.
 */
#include "cmd/commands.h"

#include <stddef.h>

const struct cli_command *const cli_commands[] = {
	&command_record,
	&command_check,
	&command_probes,
	&command_recover,
	&command_symbolize,
	&command_merge,
	&command_stream,
	&command_collect,
	&command_top,
	&command_watch,
	&command_report,
	&command_diff,
	&command_serve,
	&command_job,
	NULL
};
