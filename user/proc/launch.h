/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starts the program to record: the child waits before its exec until it is released, and runs as the calling user.
 */
#ifndef IOPROBE_LAUNCH_H
#define IOPROBE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "privilege/identity.h"

/* Everything the child needs; nothing is looked up after the fork. */
struct launch_program {
	const char *path;               /* from launch_find */
	char *const *argv, *const *environment;         /* NULL-terminated */
	const struct identity *who;
};

struct launch { pid_t pid; int go_fd, error_fd; };

/* To be called first in main. SIGXFSZ is ignored, so that exceeding the file size limit is an error (EFBIG) instead of death. A
 * process with file capabilities may use its own /proc, and dumps no core for its user. Launched programs get the inherited
 * settings: that signal, the signal mask, the limits on cores and on open files. */
void launch_keep_inherited(void);

/* Forks; the child waits. Other threads may exist: the child only makes system calls. Returns 0 or -errno. */
int launch_prepare(struct launch *launch, const struct launch_program *program);
/* Lets the child exec. Returns 0, or the -errno of its exec (the child has then exited). */
int launch_go(struct launch *launch);
/* Ends the child without executing the program. */
void launch_cancel(struct launch *launch);
/* Finds the file that exec would run for command, by PATH of environment, with the rights of who. Returns 0; -ENOENT: not found;
 * -EACCES: only files that who may not execute; or -errno. */
int launch_find(const char *command, char *const *environment, const struct identity *who, char *path, size_t path_len);

#endif
