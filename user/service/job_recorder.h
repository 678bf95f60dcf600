/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The process that records one job. It is started before there is a job, loads what takes long, and then waits for one; it outlives
 * the service.
 */
#ifndef IOPROBE_JOB_RECORDER_H
#define IOPROBE_JOB_RECORDER_H

#include <sys/types.h>

#include "service/policy.h"

/* The name by which the program runs as one: not for users. */
#define RECORDER_COMMAND "service-recorder"

/* Starts a recorder that waits for its job on *fd (the caller's): a packet {"state": path, "job": …}, answered once, when
 * recording has begun or failed; before, it says {"loaded": true} when it has; it ends if the other side closes first. Its
 * messages go to log_fd until it has a job. Returns its process, or -errno. */
pid_t job_recorder_start(const struct policy *policy, int log_fd, int *fd);

/* Starts one that makes the archive of a recorder that died; answers nothing. */
pid_t job_recorder_recover(const char *state_path, int log_fd);

/* What such a process does: arguments as given by the two above. Returns the exit status. */
int job_recorder_main(int argc, char **argv);

#endif
