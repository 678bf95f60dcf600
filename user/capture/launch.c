/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two pipes: one that the child waits on, one that carries the errno of a failed exec and closes at a good one.
 */
#include "capture/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The id that sudo(8) was called with; -1 if it was not. */
static long sudo_id(const char *name)
{
	const char *text = getenv(name);

	return text && *text && !geteuid() ? atol(text) : -1;
}

static int become_caller(void)
{
	long uid = sudo_id("SUDO_UID"), gid = sudo_id("SUDO_GID");
	const char *user = getenv("SUDO_USER");

	if (uid <= 0)
		return 0;
	if (gid >= 0 && ((user ? initgroups(user, gid) : setgroups(0, NULL)) || setgid(gid)))
		return -errno;
	return setuid(uid) ? -errno : 0;
}

static void run_child(int wait_fd, int error_fd, char *const *command)
{
	sigset_t none;
	char byte;
	int err;

	if (read(wait_fd, &byte, 1) != 1)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	err = become_caller();
	if (!err) {
		execvp(command[0], command);
		err = -errno;
	}
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int launch_prepare(struct launch *launch, char *const *command)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		close(go[0]), close(go[1]);
		return -errno;
	}
	launch->pid = fork();
	if (!launch->pid) {
		close(go[1]);
		run_child(go[0], error[1], command);
	}
	close(go[0]);
	close(error[1]);
	launch->go_fd = go[1];
	launch->error_fd = error[0];
	if (launch->pid < 0) {
		int err = -errno;

		close(go[1]), close(error[0]);
		return err;
	}
	return 0;
}

int launch_go(struct launch *launch)
{
	int err = 0;

	if (write(launch->go_fd, "", 1) != 1)
		err = -errno;
	else if (read(launch->error_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;        /* closed by a good exec */
	close(launch->go_fd);
	close(launch->error_fd);
	if (err)
		waitpid(launch->pid, NULL, 0);
	return err;
}

void launch_cancel(struct launch *launch)
{
	close(launch->go_fd);
	close(launch->error_fd);
	waitpid(launch->pid, NULL, 0);
}

bool launch_find(const char *command, char *path, size_t path_len)
{
	const char *dirs = getenv("PATH");
	char *copy, *save = NULL, *dir;
	bool found = false;

	if (strchr(command, '/'))
		return (size_t)snprintf(path, path_len, "%s", command) < path_len && !access(path, X_OK);
	copy = dirs ? strdup(dirs) : NULL;
	for (dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && !found; dir = strtok_r(NULL, ":", &save))
		found = (size_t)snprintf(path, path_len, "%s/%s", dir, command) < path_len && !access(path, X_OK);
	free(copy);
	return found;
}
