/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The commands, one file each.
 */
#ifndef IOPROBE_COMMANDS_H
#define IOPROBE_COMMANDS_H

#include "cmd/cli.h"

extern const struct cli_command command_record;
extern const struct cli_command command_check;
extern const struct cli_command command_probes;
extern const struct cli_command command_recover;
extern const struct cli_command command_symbolize;
extern const struct cli_command command_merge;
extern const struct cli_command command_stream;
extern const struct cli_command command_collect;
extern const struct cli_command command_top;
extern const struct cli_command command_watch;
extern const struct cli_command command_report;
extern const struct cli_command command_diff;
extern const struct cli_command command_serve;
extern const struct cli_command command_job;

#endif
