/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * rotation DIR: four threads make 4000 writes of 8 bytes each to one descriptor, while another one puts a new file in its place by
 * dup2 after every 400 (DIR/log.0, log.1, …), at any moment of their writes. A fifth waits in read(2) on a pipe while its
 * descriptor is closed, and ends when the pipe is written to. Prints "log.N BYTES" of each file.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

enum { THREADS = 4, WRITES = 4000, EVERY = 400, SIZE = 8, FILES = THREADS * WRITES / EVERY };

static int log_fd, pipe_fds[2];
static long written;

static int create(const char *dir, int n)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "log.%d", n);
	fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	must(fd >= 0, "open");
	return fd;
}

static void *writer(void *arg)
{
	for (int i = 0; i < WRITES; i++) {
		must(write(log_fd, "a line\n", SIZE) == SIZE, "write");
		__atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void *reader(void *arg)
{
	char byte;

	must(read(pipe_fds[0], &byte, 1) == 1, "read");
	return arg;
}

static void rotate(const char *dir)
{
	for (int n = 1; n < FILES; n++) {
		int fd;

		while (__atomic_load_n(&written, __ATOMIC_RELAXED) < n * EVERY)
			sched_yield();
		fd = create(dir, n);
		must(dup2(fd, log_fd) == log_fd && close(fd) == 0, "dup2");
	}
}

static void print_sizes(const char *dir)
{
	for (int n = 0; n < FILES; n++) {
		struct stat st;
		char name[32];

		snprintf(name, sizeof(name), "log.%d", n);
		must(stat(IN_DIR(dir, name), &st) == 0, "stat");
		printf("%s %lld\n", name, (long long)st.st_size);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], waiting;

	must(argc == 2, "usage: rotation DIR");
	must(pipe(pipe_fds) == 0 && pthread_create(&waiting, NULL, reader, NULL) == 0, "pipe");
	log_fd = create(argv[1], 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, writer, NULL) == 0, "pthread_create");
	rotate(argv[1]);
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL) == 0, "pthread_join");
	must(close(pipe_fds[0]) == 0 && write(pipe_fds[1], "x", 1) == 1, "write to a pipe");
	must(pthread_join(waiting, NULL) == 0, "pthread_join");
	print_sizes(argv[1]);
	return 0;
}
