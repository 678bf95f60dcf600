/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A job's id in place of its recording's directory on the command line.
 */
#ifndef IOPROBE_CMD_JOB_DIRECTORY_H
#define IOPROBE_CMD_JOB_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether an argument may be the id of a job: it is no path of a file that exists. */
bool job_directory_is_name(const char *text);
/* Asks the node's service (IOPROBE_SOCKET, or the default socket) for the directory of the job's latest recording. Returns 0, or
 * -errno with one line in err. */
int job_directory_find(const char *job, char *dir, size_t len, char *err, size_t err_len);

#endif
