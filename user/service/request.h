/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Validates start requests. Root (a prolog) may set the job, its user and all properties from the batch system. A user may set a
 * job id, processes and environment entries; everything else is taken from the kernel and the service's options.
 */
#ifndef IOPROBE_SERVICE_REQUEST_H
#define IOPROBE_SERVICE_REQUEST_H

#include <jansson.h>
#include <stddef.h>
#include <sys/socket.h>

#define REQUEST_MAX_PIDS 4096
#define REQUEST_MAX_USER_PIDS 64

/* Properties known to the service. */
struct request_site {
	const char *node;       /* --node; NULL: not given */
	const char *host;       /* host name without its domain */
	const char *cluster;    /* from the policy; "": not given */
};

/* Makes the id of a recording: the job's id for root, uUID.JOB for a user, so that no user can take the id of a job. */
void request_recording_id(char *id, size_t len, const char *job, uid_t uid);

/* Builds a new job object (state.h) from a start request: "id", "job", "by" (the client's uid), "uid", "gid", "node",
 * "cluster", "entries", "pids"; for root also "user", "account", "comment", "work_dir". The caller owns it. Returns NULL with
 * one line in why. */
json_t *request_job(const json_t *message, const struct ucred *peer, const struct request_site *site, char *why, size_t why_len);

/* Verifies that each of the job's pids runs. If uid is not 0, all must belong to that user, or, without pids, at least one process
 * of the job must run on this node; the working directory of the first becomes "work_dir". Returns 0, or -errno with one line in
 * why. */
int request_check_processes(json_t *job, uid_t uid, char *why, size_t why_len);

#endif
