/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What "ioprobe stream" and "ioprobe top" have in common.
 */
#ifndef IOPROBE_CMD_FOLLOWING_H
#define IOPROBE_CMD_FOLLOWING_H

#include "cmd/cli.h"
#include "cmd/trace_argument.h"
#include "stream/live.h"

struct following {
	struct trace_argument recording;
	int dir;
	uint64_t interval_ns;
};

/* The text of --interval. Ends the process after a mistake. */
uint64_t following_interval(const struct cli *cli, const char *value);

/* Opens the recording's directory and gives up all rights but those of its owner (under sudo: of the calling user), for good:
 * the records are theirs. The current directory becomes the recording's. Returns 0, or -errno with one line in err. */
int following_open(struct following *following, char *err, size_t err_len);

/* Runs until the recording ends. Returns an exit status; an error was printed. */
int following_run(struct following *following, struct live_output **outputs, size_t noutputs);

#endif
