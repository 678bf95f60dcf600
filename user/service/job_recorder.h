/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The process that records one job. It is started before there is a job, does the preparations that take long, then waits for a
 * job; it outlives the service. The same program loads the BPF programs that recorders share.
 */
#ifndef IOPROBE_JOB_RECORDER_H
#define IOPROBE_JOB_RECORDER_H

#include <sys/types.h>

#include "service/policy.h"

/* The command name of such a process: not for users. */
#define RECORDER_COMMAND "service-recorder"
#define RECORDER_SOCKET_FD 0    /* of its connection to the service */
#define RECORDER_MAX_TABLES 64  /* options --probes */

/* Starts a recorder that waits on *fd (owned by the caller) for a set of BPF programs with a slot in it (programs_send), or {"own":
 * true}: load a set; and for its job: a packet {"state": path, "job": …, "own": …}, which may come first. It sends {"loaded": true}
 * when it is ready, and one answer when recording has begun or failed; it ends if the other side closes before that. Its messages
 * go to log_fd until it has a job. Returns its pid, or -errno. */
pid_t job_recorder_start(const struct policy *policy, int log_fd, int *fd);

/* Starts a process that loads a set of BPF programs for this many recordings and sends it to *fd (programs_send). On failure *fd
 * closes without a packet and the reason goes to log_fd. Returns its pid, or -errno. */
pid_t job_recorder_load(const struct policy *policy, unsigned slots, int log_fd, int *fd);

/* Starts a process that makes the archive of a recorder that died; it sends no answer. */
pid_t job_recorder_recover(const char *state_path, int log_fd);

/* Main function of these processes, with the arguments that the functions above pass. Returns the exit status. */
int job_recorder_main(int argc, char **argv);

#endif
