/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The node's service: answers requests on a local socket and supervises one recorder per job. It can be killed and restarted at any
 * time: recorders continue meanwhile.
 *
 * Requests are {"request": …}: "start" with a job (state.h), "stop" and "status" with "job" (status: optional), "version". Root may
 * send all of them for every job; other users only for their own recordings and processes, and their identity is taken from the
 * socket (request.h). An answer to "status" is one packet per job, then one with "end".
 */
#ifndef IOPROBE_SERVER_H
#define IOPROBE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct server_options {
	const char *socket_path, *state_dir;
	const char *policy_path;        /* NULL: the default policy */
	const char *node;               /* record only processes that the batch system started on this node; NULL: all */
};

/* Runs until SIGTERM or SIGINT; SIGHUP reads the policy again. Returns 0, or -errno with one line in err; *broken_policy: the
 * policy file has an error or cannot be read, so that a restart would fail as well. */
int server_run(const struct server_options *options, bool *broken_policy, char *err, size_t err_len);

#endif
