/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * first_use DIR: opens DIR/{old_thread,new_thread,old_process,new_process,program}, and makes a thread and a process; prints
 * "ready" and waits for DIR/go. Each descriptor is first used then, by another thread or process than the one that opened it:
 * writes of 10 bytes, 3 by the thread, 4 by a thread made after the wait, 5 by the process, 6 by a process made after the wait,
 * 7 by a program (first_use FD) that such a process executes.
 */
#include "golden.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

enum { SIZE = 10, OLD_THREAD = 3, NEW_THREAD = 4, OLD_PROCESS = 5, NEW_PROCESS = 6, PROGRAM = 7 };

static const char *dir;

static void wait_for_go(void)
{
	for (int i = 0; i < 6000; i++) {
		if (access(IN_DIR(dir, "go"), F_OK) == 0)
			return;
		usleep(10000);
	}
	errno = ETIMEDOUT;
	die("no file 'go'");
}

static int create(const char *name)
{
	int fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, "open");
	return fd;
}

static void *old_thread(void *fd)
{
	wait_for_go();
	write_n(*(int *)fd, OLD_THREAD, SIZE);
	return NULL;
}

static void *new_thread(void *fd)
{
	write_n(*(int *)fd, NEW_THREAD, SIZE);
	return NULL;
}

static pid_t start_process(int fd, int n, bool wait)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	if (wait)
		wait_for_go();
	write_n(fd, n, SIZE);
	_exit(0);
}

static pid_t start_program(int fd)
{
	pid_t pid = fork();
	char number[16];

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "first_use", number, NULL);
	die("exec");
	return -1;
}

static void end_process(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "a process");
}

static void use_first(void)
{
	int fds[] = { create("old_thread"), create("new_thread"), create("old_process"), create("new_process"), create("program") };
	pthread_t thread, later;
	pid_t process;

	must(pthread_create(&thread, NULL, old_thread, &fds[0]) == 0, "pthread_create");
	process = start_process(fds[2], OLD_PROCESS, true);
	must(write(1, "ready\n", 6) == 6, "write");
	wait_for_go();
	must(pthread_create(&later, NULL, new_thread, &fds[1]) == 0, "pthread_create");
	must(pthread_join(later, NULL) == 0 && pthread_join(thread, NULL) == 0, "pthread_join");
	end_process(start_process(fds[3], NEW_PROCESS, false));
	end_process(start_program(fds[4]));
	end_process(process);
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: first_use DIR");
	dir = argv[1];
	if (atoi(dir) > 0)
		write_n(atoi(dir), PROGRAM, SIZE);
	else
		use_first();
	return 0;
}
