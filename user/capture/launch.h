/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starting the program to record: it waits before its exec until it is told to go, and runs as the user who called sudo.
 */
#ifndef IOPROBE_LAUNCH_H
#define IOPROBE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch { pid_t pid; int go_fd, error_fd; };

/* Forks. The child waits. Returns 0 or -errno. */
int launch_prepare(struct launch *launch, char *const *command);
/* Lets it exec. Returns 0, or the -errno of its exec (then it is gone). */
int launch_go(struct launch *launch);
/* It never runs the program. */
void launch_cancel(struct launch *launch);
/* The file that exec would find by PATH; false if none. */
bool launch_find(const char *command, char *path, size_t path_len);

#endif
