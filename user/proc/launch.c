/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two pipes: one that the child waits on, one that carries the errno of a failed exec and is closed by a successful one.
 */
#include "proc/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/capabilities.h"
#include "privilege/environment.h"

#define DEFAULT_PATH "/bin:/usr/bin"    /* as in execvp(3) */

static struct { struct sigaction xfsz; sigset_t mask; struct rlimit core, files; } inherited;

/* The kernel makes a process with file capabilities undumpable: its /proc directory then belongs to root, but probes need it to
 * refer to descriptors by path. Even if dumpable, its user cannot trace it without the same capabilities (ptrace(2)), but would get
 * its core dumps. */
static void open_own_proc(void)
{
	const struct rlimit none = { 0, inherited.core.rlim_max };

	if (geteuid() && prctl(PR_GET_DUMPABLE) != 1 && !setrlimit(RLIMIT_CORE, &none))
		prctl(PR_SET_DUMPABLE, 1);
}

void launch_keep_inherited(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGXFSZ, &ignore, &inherited.xfsz);
	sigprocmask(SIG_SETMASK, NULL, &inherited.mask);
	getrlimit(RLIMIT_CORE, &inherited.core);
	getrlimit(RLIMIT_NOFILE, &inherited.files);
	open_own_proc();
}

/* ---- in the child: system calls only, since other threads may have held any lock at the fork ---- */

/* Capabilities are granted to ioprobe, not to the programs that it launches. Root's programs keep root's. */
static int launch_become(const struct identity *who)
{
	if (!who->own &&
	    (syscall(SYS_setgroups, who->ngroups, who->groups) || syscall(SYS_setresgid, who->gid, who->gid, who->gid) ||
	     syscall(SYS_setresuid, who->uid, who->uid, who->uid)))
		return -errno;
	return who->uid ? capabilities_drop_all() : 0;
}

/* A file without a valid executable format is run as a shell script, as by execvp. */
static int launch_execute(const struct launch_program *program, char **shell_argv)
{
	execve(program->path, program->argv, program->environment);
	if (errno != ENOEXEC)
		return -errno;
	execve("/bin/sh", shell_argv, program->environment);
	return -errno;
}

static void run_child(int wait_fd, int error_fd, const struct launch_program *program, char **shell_argv)
{
	char byte;
	int err;

	if (read(wait_fd, &byte, 1) != 1)
		_exit(127);
	sigaction(SIGXFSZ, &inherited.xfsz, NULL);
	sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
	setrlimit(RLIMIT_CORE, &inherited.core);
	setrlimit(RLIMIT_NOFILE, &inherited.files);
	err = launch_become(program->who);
	if (!err)
		err = launch_execute(program, shell_argv);
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- in the recorder ---- */

/* sh PATH ARGUMENT… */
static char **make_shell_argv(const struct launch_program *program)
{
	size_t n = 0;
	char **argv;

	while (program->argv[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = "sh";
	argv[1] = (char *)program->path;
	for (size_t i = 1; i < n; i++)
		argv[i + 1] = program->argv[i];
	return argv;
}

static int fork_child(struct launch *launch, const struct launch_program *program, char **shell_argv)
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
		run_child(go[0], error[1], program, shell_argv);
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

int launch_prepare(struct launch *launch, const struct launch_program *program)
{
	char **shell_argv = make_shell_argv(program);
	int err = shell_argv ? fork_child(launch, program, shell_argv) : -ENOMEM;

	free(shell_argv);
	return err;
}

int launch_go(struct launch *launch)
{
	int err = 0;

	if (write(launch->go_fd, "", 1) != 1)
		err = -errno;
	else if (read(launch->error_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;        /* closed by a successful exec */
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

/* Returns 0 or -errno. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? 0 : -EACCES;
}

/* As in a shell: the first executable file; -EACCES if only files without execute permission were found. */
static int search_path(const char *command, const char *dirs, char *path, size_t path_len)
{
	int ret = -ENOENT;

	while (dirs) {
		size_t len = strcspn(dirs, ":");
		int err = -ENOENT;

		/* an empty entry means the current directory */
		if ((size_t)snprintf(path, path_len, "%.*s%s%s", (int)len, dirs, len ? "/" : "", command) < path_len)
			err = check_executable(path);
		if (!err)
			return 0;
		if (err == -EACCES)
			ret = err;
		dirs = dirs[len] ? dirs + len + 1 : NULL;
	}
	return ret;
}

int launch_find(const char *command, char *const *environment, const struct identity *who, char *path, size_t path_len)
{
	struct identity_saved saved;
	int ret = *command ? identity_begin(who, &saved) : -ENOENT;

	if (ret)
		return ret;
	if (!strchr(command, '/'))
		ret = search_path(command, environment_value(environment, "PATH") ?: DEFAULT_PATH, path, path_len);
	else if ((size_t)snprintf(path, path_len, "%s", command) >= path_len)
		ret = -ENAMETOOLONG;
	else
		ret = check_executable(path);
	identity_end(&saved);
	return ret;
}
