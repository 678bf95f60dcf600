/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The process that records one job. It is started before there is a job, prepares what takes time, and then waits for one; it outlives
 * the service. The same program loads the BPF programs that recorders share.
 */
#ifndef IOPROBE_JOB_RECORDER_H
#define IOPROBE_JOB_RECORDER_H

#include <sys/types.h>

#include "service/policy.h"

/* The name by which the program runs as one: not for users. */
#define RECORDER_COMMAND "service-recorder"

/* Starts a recorder that waits on *fd (the caller's) for a set of BPF programs with a slot in it (programs_send), or {"own": true}: load
 * one; and for its job: a packet {"state": path, "job": …, "own": …}, which may come first. It sends {"loaded": true} when it can
 * begin, and one answer when recording has begun or failed; it ends if the other side closes first. Its messages go to log_fd until
 * it has a job. Returns its process, or -errno. */
pid_t job_recorder_start(const struct policy *policy, int log_fd, int *fd);

/* Starts one that loads a set of BPF programs for so many recordings and sends it to *fd (programs_send), which ends without a packet
 * if that fails; the reason goes to log_fd. Returns its process, or -errno. */
pid_t job_recorder_load(const struct policy *policy, unsigned slots, int log_fd, int *fd);

/* Starts one that makes the archive of a recorder that died; answers nothing. */
pid_t job_recorder_recover(const char *state_path, int log_fd);

/* What such a process does: arguments as given by those above. Returns the exit status. */
int job_recorder_main(int argc, char **argv);

#endif
