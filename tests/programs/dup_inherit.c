/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * dup_inherit DIR: one open of DIR/file, then dup, dup2 (onto a free and onto an open descriptor), dup3, F_DUPFD, F_DUPFD_CLOEXEC:
 * 7 descriptors of one file, one write of 10 bytes through each (70 bytes), 7 closes; a forked child writes 10 bytes through 3 of
 * them.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/wait.h>

static void write_through(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		write_n(fds[i], 1, 10);
}

static void inherit(const int *fds)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		write_through(fds, 3);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

int main(int argc, char **argv)
{
	int fds[7], other;

	if (argc != 2)
		return 2;
	fds[0] = open(IN_DIR(argv[1], "file"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	other = open(IN_DIR(argv[1], "other"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fds[0] >= 0 && other >= 0, "open");
	fds[1] = dup(fds[0]);
	fds[2] = dup2(fds[0], 50);
	fds[3] = dup2(fds[0], other);
	fds[4] = dup3(fds[0], 51, O_CLOEXEC);
	fds[5] = fcntl(fds[0], F_DUPFD, 60);
	fds[6] = fcntl(fds[0], F_DUPFD_CLOEXEC, 60);
	for (int i = 0; i < 7; i++)
		must(fds[i] >= 0, "dup");
	write_through(fds, 7);
	inherit(fds);
	for (int i = 0; i < 7; i++)
		must(close(fds[i]) == 0, "close");
	return 0;
}
