/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A follower in a process of its own, which a recording starts and does not wait for while it records.
 */
#ifndef IOPROBE_STREAM_FOLLOWER_H
#define IOPROBE_STREAM_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stream/live.h"

struct output;

#define FOLLOWER_COMMAND "follow-recording" /* of main.c, not for users */
#define FOLLOWER_MAX_OUTPUTS 8
#define FOLLOWER_STORE "live.db" /* the default store, in the recording's directory */

struct follower {
	pid_t pid; /* 0: none */
	int report; /* a descriptor of a struct live_report that the process updates; only with a pid, -1: there is none */
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	size_t noutputs;
};

/* What is streamed, on whose behalf, and where to; strings are not copied. */
struct follower_options {
	const char *const *outputs; /* as live_output_create takes them */
	size_t noutputs;
	const char *interval, *names, *events; /* NULL: the default */
};

/* Parses an interval such as "1s". Returns false if it is invalid or out of range. */
bool follower_interval(const char *text, uint64_t *ns);
/* Parses "full", "mount" or "hash". Returns false for other words. */
bool follower_names(const char *text, enum live_names *names);

/* "none", "errors", "slow=TIME", "1/N", "all". Returns false if it is none. */
bool follower_events(const char *text, struct live_options *options);

/* Starts a process with the rights of the output's owner and low priority that follows the recording in the directory. It ends by
 * itself when the recording has ended and all was delivered; nothing of the caller is open in it but the standard error. Returns 0
 * or -errno. */
int follower_start(struct follower *follower, const struct follower_options *options, const struct output *out);

/* Reads what the follower has reported so far, limited to possible values: the process belongs to its user, who can write any
 * numbers. Returns false if there is no report. */
bool follower_report(const struct follower *follower, struct live_report *report);

/* Waits for its end, at most wait_ms; its report can be read afterwards. Returns false if it has not ended. */
bool follower_await(const struct follower *follower, unsigned wait_ms);

/* Waits for its end, at most wait_ms. Returns 0, -ETIMEDOUT: it continues on its own, or -EIO: it failed and has reported the
 * reason. */
int follower_finish(struct follower *follower, unsigned wait_ms);

/* Nothing was recorded: ends the process and removes the default store. */
void follower_discard(struct follower *follower, const struct output *out);

int follower_main(int argc, char **argv);

#endif
