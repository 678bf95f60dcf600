/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * already_running DIR: opens DIR/{fd,stream,thread}, writes 10 x 16 bytes to each, makes DIR/ready, waits for DIR/go, by access and
 * as many fflush that have nothing to do; then 25 write, 25 fwrite (flushed each) and, in a thread that was there before (which
 * waits by access alone), 25 write of 16 bytes; lseek and 5 reads of 16 bytes; close all.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>

enum { BEFORE = 10, AFTER = 25, SIZE = 16 };

static const char *dir;

/* Nothing is opened, read or written while the observer attaches. */
static void wait_for_go(FILE *stream)
{
	for (int i = 0; i < (stream ? 240000 : 6000); i++) {
		if (access(IN_DIR(dir, "go"), F_OK) == 0)
			return;
		must(!stream || fflush(stream) == 0, "fflush");
		usleep(stream ? 250 : 10000);
	}
	errno = ETIMEDOUT;
	die("no file 'go'");
}

static void *thread_body(void *unused)
{
	int fd = open(IN_DIR(dir, "thread"), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, "open");
	write_n(fd, BEFORE, SIZE);
	wait_for_go(NULL);
	write_n(fd, AFTER, SIZE);
	must(close(fd) == 0, "close");
	return unused;
}

static void stream_n(FILE *stream, int n)
{
	for (int i = 0; i < n; i++)
		must(fwrite("0123456789abcdef", 1, SIZE, stream) == SIZE && fflush(stream) == 0, "fwrite");
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char block[SIZE];
	FILE *stream;
	int fd;

	if (argc != 2)
		return 2;
	dir = argv[1];
	fd = open(IN_DIR(dir, "fd"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	stream = fopen(IN_DIR(dir, "stream"), "w");
	must(fd >= 0 && stream, "open");
	must(pthread_create(&thread, NULL, thread_body, NULL) == 0, "pthread_create");
	write_n(fd, BEFORE, SIZE);
	stream_n(stream, BEFORE);
	usleep(100000); /* the thread has written its part, too */
	must(close(creat(IN_DIR(dir, "ready"), 0644)) == 0, "creat");

	wait_for_go(stream);
	write_n(fd, AFTER, SIZE);
	stream_n(stream, AFTER);
	must(pthread_join(thread, NULL) == 0, "pthread_join");
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	for (int i = 0; i < 5; i++)
		must(read(fd, block, SIZE) == SIZE, "read");
	must(close(fd) == 0 && fclose(stream) == 0, "close");
	return 0;
}
