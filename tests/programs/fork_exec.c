/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * fork_exec DIR: parent 30, forked child 10, the child after exec 20, a spawned program 5 writes of 32 bytes to one inherited
 * descriptor of DIR/shared: 65 writes, 2080 bytes; 2 further writes fail with EBADF (descriptor closed by exec). Processes: 3.
 */
#include "golden.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

enum { SIZE = 32 };

/* The program that the child becomes: "fork_exec + FD CLOSED_FD N". */
static int after_exec(char **argv)
{
	write_n(atoi(argv[2]), atoi(argv[4]), SIZE);
	must(write(atoi(argv[3]), "x", 1) == -1 && errno == EBADF, "O_CLOEXEC descriptor survived exec");
	return 0;
}

static void wait_for(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

int main(int argc, char **argv)
{
	char shared_arg[12], private_arg[12];
	char *spawn_argv[] = { argv[0], "+", shared_arg, private_arg, "5", NULL };
	char *exec_argv[] = { argv[0], "+", shared_arg, private_arg, "20", NULL };
	int shared, private;
	pid_t pid;

	if (argc == 5)
		return after_exec(argv);
	if (argc != 2)
		return 2;
	shared = open(IN_DIR(argv[1], "shared"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	private = open(IN_DIR(argv[1], "private"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	must(shared >= 0 && private >= 0, "open");
	snprintf(shared_arg, sizeof(shared_arg), "%d", shared);
	snprintf(private_arg, sizeof(private_arg), "%d", private);

	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		write_n(shared, 10, SIZE);
		execv("/proc/self/exe", exec_argv);
		die("exec");
	}
	wait_for(pid);
	must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, spawn_argv, NULL) == 0, "posix_spawn");
	wait_for(pid);
	write_n(shared, 30, SIZE);
	return 0;
}
