/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The commands, one file each. Each takes its own name as argv[0] and returns the exit status: 0, 1 failed, 2 usage.
 */
#ifndef IOPROBE_CMD_H
#define IOPROBE_CMD_H

#include <stdbool.h>

int cmd_record(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_probes(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_job(int argc, char **argv);

#endif
