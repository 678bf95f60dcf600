/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * calls KIND COUNT SIZE DIR: prints the nanoseconds per call of COUNT calls of one kind (pwrite, fwrite, getppid) with SIZE bytes each on
 * DIR/bench. The best of five rounds: the least disturbed one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 20];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Returns 0 if all calls did what they should. */
static int round_of(const char *kind, long count, size_t size, int fd, FILE *stream)
{
	if (!strcmp(kind, "pwrite"))
		for (long i = 0; i < count; i++)
			if (pwrite(fd, block, size, 0) != (ssize_t)size)
				return -1;
	if (!strcmp(kind, "fwrite")) {
		rewind(stream);
		for (long i = 0; i < count; i++)
			if (fwrite(block, 1, size, stream) != size)
				return -1;
	}
	if (!strcmp(kind, "getppid"))
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
	return 0;
}

int main(int argc, char **argv)
{
	double best = 1e300;
	char path[4096];
	FILE *stream;
	long count;
	size_t size;

	if (argc != 5 || (size = strtoul(argv[3], NULL, 10)) > sizeof(block) || (count = atol(argv[2])) <= 0)
		return 2;
	snprintf(path, sizeof(path), "%s/bench", argv[4]);
	stream = fopen(path, "w+");
	if (!stream)
		return 3;
	for (int i = 0; i < 5; i++) {
		double begin = now_ns();

		if (round_of(argv[1], count, size, fileno(stream), stream))
			return 3;
		best = now_ns() - begin < best ? now_ns() - begin : best;
	}
	printf("%.0f\n", best / (double)count);
	return 0;
}
