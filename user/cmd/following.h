/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Common part of "ioprobe stream" and "ioprobe top".
 */
#ifndef IOPROBE_CMD_FOLLOWING_H
#define IOPROBE_CMD_FOLLOWING_H

#include "cmd/cli.h"
#include "cmd/trace_argument.h"
#include "stream/live.h"

struct following {
	struct trace_argument
		recording; /* name: a directory, a store where the command shows one, or the id of a job on this node */
	char job_dir[4096]; /* of the latter */
	int dir;
	struct live_options options;
};

/* The text of --interval, of --names, of --events. End the process after a mistake. */
uint64_t following_interval(const struct cli *cli, const char *option, const char *value);
enum live_names following_names(const struct cli *cli, const char *option, const char *value);
void following_events(const struct cli *cli, const char *option, const char *value, struct live_options *options);

/* Opens the recording's directory and permanently switches to the rights of its owner (under sudo: of the calling user), who owns
 * the records. The current directory becomes the recording's. Returns 0, or -errno with one line in err. */
int following_open(struct following *following, char *err, size_t err_len);

/* Runs until the recording ends. Returns an exit status; errors have been printed. */
int following_run(struct following *following, struct live_output **outputs, size_t noutputs);

#endif
