/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starting the program to record: it waits before its exec until it is told to go, and runs as the user who called.
 */
#ifndef IOPROBE_LAUNCH_H
#define IOPROBE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "privilege/identity.h"

/* All that the program needs; nothing is looked up after the fork. */
struct launch_program {
	const char *path;               /* as launch_find found it */
	char *const *argv, *const *environment;         /* NULL-terminated */
	const struct identity *who;
};

struct launch { pid_t pid; int go_fd, error_fd; };

/* For main, first of all. SIGXFSZ is ignored, so that a limit on the size of files is an error (EFBIG) and no death. A process with
 * capabilities of its file may use its own /proc, and dumps no core for its user. Launched programs get what was inherited: that
 * signal, the signal mask, the limit on cores. */
void launch_keep_inherited(void);

/* Forks. The child waits. Other threads may exist: the child makes system calls only. Returns 0 or -errno. */
int launch_prepare(struct launch *launch, const struct launch_program *program);
/* Lets it exec. Returns 0, or the -errno of its exec (then it is gone). */
int launch_go(struct launch *launch);
/* It never runs the program. */
void launch_cancel(struct launch *launch);
/* The file that exec would find for command by PATH of environment, with the rights of who. Returns 0; -ENOENT: there is none; -EACCES:
 * only files that who may not execute; or -errno. */
int launch_find(const char *command, char *const *environment, const struct identity *who, char *path, size_t path_len);

#endif
