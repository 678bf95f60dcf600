/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * writes4000 DIR: 4000 writes of 64 bytes (256000 bytes): 1000 in main and in each of two threads, 1000 in a forked child, each to
 * a file of its own (DIR/main, DIR/thread0, DIR/thread1, DIR/child). Processes: 2; threads with I/O: 4.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

enum { WRITES = 1000, SIZE = 64 };

static const char *dir;

static void *fill(void *name)
{
	int fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, "open");
	write_n(fd, WRITES, SIZE);
	must(close(fd) == 0, "close");
	return NULL;
}

static void fill_in_child(void)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		fill("child");
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 2)
		return 2;
	dir = argv[1];
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, fill, i ? "thread1" : "thread0") == 0, "pthread_create");
	fill("main");
	fill_in_child();
	for (int i = 0; i < 2; i++)
		must(pthread_join(threads[i], NULL) == 0, "pthread_join");
	return 0;
}
