/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What of a start request is believed. Root (a prolog) names the job, its user and everything that the batch system knows of it. A
 * user names a job id, processes and entries of the environment; all else is derived from the kernel and the service's options.
 */
#ifndef IOPROBE_SERVICE_REQUEST_H
#define IOPROBE_SERVICE_REQUEST_H

#include <jansson.h>
#include <stddef.h>
#include <sys/socket.h>

#define REQUEST_MAX_PIDS 4096
#define REQUEST_MAX_USER_PIDS 64

/* What the service knows by itself. */
struct request_site {
	const char *node;       /* --node, NULL: not given */
	const char *host;       /* the host's name without its domain */
	const char *cluster;    /* the policy's, "": not given */
};

/* The name of a recording: the job's id for root, uUID.JOB for a user, so that no user takes the name of a job. */
void request_recording_id(char *id, size_t len, const char *job, uid_t uid);

/* Builds a new job object (state.h) from a start request: "id", "job", "by" (the client's uid), "uid", "gid", "node", "cluster",
 * "entries", "pids"; for root also "user", "account", "comment", "work_dir". The caller owns it. Returns NULL with one line in why. */
json_t *request_job(const json_t *message, const struct ucred *peer, const struct request_site *site, char *why, size_t why_len);

/* Verifies that each of the job's pids runs. For a user (uid is not 0) all must be his, or without pids at least one process of the
 * job on this node; the working directory of the first becomes "work_dir". Returns 0, or -errno with one line in why. */
int request_check_processes(json_t *job, uid_t uid, char *why, size_t why_len);

#endif
