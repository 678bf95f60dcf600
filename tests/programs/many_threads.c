/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * many_threads DIR N: N threads, of which eight live at a time; each writes 8 bytes to DIR/threads. Prints N.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>

enum { TOGETHER = 8 };

static void *one_write(void *fd)
{
	write_n((int)(long)fd, 1, 8);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[TOGETHER];
	long n = argc == 3 ? atol(argv[2]) : 0;
	int fd = argc == 3 ? creat(IN_DIR(argv[1], "threads"), 0644) : -1;

	must(n > 0 && n % TOGETHER == 0 && fd >= 0, "usage: many_threads DIR N");
	for (long done = 0; done < n; done += TOGETHER) {
		for (int i = 0; i < TOGETHER; i++)
			must(pthread_create(&threads[i], NULL, one_write, (void *)(long)fd) == 0, "pthread_create");
		for (int i = 0; i < TOGETHER; i++)
			must(pthread_join(threads[i], NULL) == 0, "pthread_join");
	}
	must(lseek(fd, 0, SEEK_END) == 8 * n && close(fd) == 0, "close");
	printf("%ld\n", n);
	return 0;
}
