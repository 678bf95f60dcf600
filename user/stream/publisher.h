/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The programs of LDMS that publish the lines which they read: ldmsd_stream_publish and ldms_msg_publish. They get their
 * connection from the environment variables of Darshan's connector (darshan-runtime, darshan-ldms.c), with the same defaults.
 */
#ifndef IOPROBE_STREAM_PUBLISHER_H
#define IOPROBE_STREAM_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "stream/grace.h"

struct publisher {
	const char *name;
	pid_t pid; /* 0: none runs */
	int status; /* of waitpid, when it has ended */
	int in; /* its standard input */
	bool too_slow; /* it did not read within the grace period and was killed */
	struct grace grace;
	const struct live_output *output;
};

/* Names of the programs, ends with NULL. */
extern const char *const publisher_names[];

/* Starts the program, found in PATH; *out: its standard input, which the caller passes to publisher_finish. Writing waits for a
 * program that does not read, but after the recording's end for the grace period only (ETIMEDOUT). The program prints to the
 * caller's standard error and ends with the caller. *publisher must not be moved. Returns 0, or -errno with one line in err. */
int publisher_start(struct publisher *publisher, const char *name, const struct live_output *output, FILE **out, char *err,
		    size_t err_len);

/* Writing to it has failed: writes why into err, in one line, if the program has ended. */
void publisher_explain(struct publisher *publisher, char *err, size_t err_len);

/* Closes out, waits for the program's end for at most the grace period and then kills it. Returns 0, or -errno with one line in
 * err: it has failed, so that lines may be missing. */
int publisher_finish(struct publisher *publisher, FILE *out, char *err, size_t err_len);

#endif
