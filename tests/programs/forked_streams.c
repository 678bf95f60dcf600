/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * forked_streams CHILDREN CALLS: each child makes so many fwrites, a millisecond apart. All live at once and share libc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void write_stream(int calls)
{
	struct timespec pause = { 0, 1000000 };
	FILE *out = fopen("/dev/null", "w");

	for (int i = 0; out && i < calls; i++) {
		fwrite("x", 1, 1, out);
		nanosleep(&pause, NULL);
	}
	_exit(!out);
}

int main(int argc, char **argv)
{
	int children = argc > 2 ? atoi(argv[1]) : 24, calls = argc > 2 ? atoi(argv[2]) : 100, failed = 0, status;

	for (int i = 0; i < children; i++)
		if (!fork())
			write_stream(calls);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}
