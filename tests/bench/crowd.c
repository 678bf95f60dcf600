/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * crowd DIR: the benchmark's worker with many threads or processes: SIZE of them share the calls, each on a descriptor of its own.
 * All live from the start of an order to its end; the time is taken while all are at work.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "worker.h"

#define MAX_CROWD 256

static char path[4096];
static long share;      /* calls of each */

static void *work(void *unused)
{
	int fd = open(path, O_RDWR);
	long failed = fd < 0;

	(void)unused;
	for (long i = 0; i < share && !failed; i++)
		failed = pwrite(fd, "x", 1, 0) != 1;
	close(fd);
	return failed ? path : NULL;
}

static int do_threads(long n, size_t size)
{
	pthread_t threads[MAX_CROWD];
	size_t made = 0;
	void *failed;
	int bad = 0;

	share = n / (long)size;
	while (made < size && made < MAX_CROWD && !pthread_create(&threads[made], NULL, work, NULL))
		made++;
	for (size_t i = 0; i < made; i++) {
		pthread_join(threads[i], &failed);
		bad |= failed != NULL;
	}
	return bad || made < size;
}

static int do_processes(long n, size_t size)
{
	size_t made = 0;
	int bad = 0, status;

	share = n / (long)size;
	for (; made < size; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (!pid)
			_exit(work(NULL) != NULL);
	}
	for (size_t i = 0; i < made; i++)
		bad |= wait(&status) < 0 || status;
	return bad || made < size;
}

static const struct kind kinds[] = { { "threads", do_threads }, { "processes", do_processes } };

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/bench.crowd", argv[1]);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0)
		return 3;
	close(fd);
	puts("ready");
	fflush(stdout);
	return serve(kinds, sizeof(kinds) / sizeof(*kinds));
}
