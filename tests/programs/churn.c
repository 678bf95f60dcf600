/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * churn DIR: 100 threads, one after the other in pairs, and 20 processes, each of which opens DIR/<n>, writes 3 x 7 bytes and
 * closes: 120 opens, 360 writes (2520 bytes), 120 closes; 101 threads in the parent, 20 children.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>

enum { THREADS = 100, PROCESSES = 20 };

static const char *dir;

static void *touch(void *number)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", (int)(intptr_t)number);
	fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0, "open");
	write_n(fd, 3, 7);
	must(close(fd) == 0, "close");
	return NULL;
}

static void threads(void)
{
	pthread_t pair[2];

	for (intptr_t i = 0; i < THREADS; i += 2) {
		for (int j = 0; j < 2; j++)
			must(pthread_create(&pair[j], NULL, touch, (void *)(i + j)) == 0, "pthread_create");
		for (int j = 0; j < 2; j++)
			must(pthread_join(pair[j], NULL) == 0, "pthread_join");
	}
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 2)
		return 2;
	dir = argv[1];
	threads();
	for (intptr_t i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid == 0) {
			touch((void *)(THREADS + i));
			_exit(0);
		}
		must(waitpid(pid, &status, 0) == pid && status == 0, "child");
	}
	return 0;
}
