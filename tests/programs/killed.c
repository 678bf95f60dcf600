/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * killed DIR: a child makes 7 writes of 9 bytes to DIR/child, then blocks in read of a pipe below nest_call and is killed by
 * SIGKILL; a second child ends by _exit with DIR/open still open after 3 writes. 10 writes, 90 bytes; 1 read never returns.
 */
#include "golden.h"
#include "nest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static int ends[2];

static int block(void *arg)
{
	char c;

	(void)arg;
	return (int)read(ends[0], &c, 1);
}

static int open_in(const char *dir, const char *name)
{
	int fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, name);
	return fd;
}

static void kill_one(const char *dir)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		write_n(open_in(dir, "child"), 7, 9);
		usleep(500000);         /* by then a forked process has probes of its own */
		nest_call(block, NULL);
		die("read returned");
	}
	usleep(1500000);
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid, "kill");
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "child was not killed");
}

static void leave_one(const char *dir)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		write_n(open_in(dir, "open"), 3, 9);
		_exit(5);
	}
	must(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "child");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	must(pipe(ends) == 0, "pipe");
	kill_one(argv[1]);
	leave_one(argv[1]);
	return 0;
}
