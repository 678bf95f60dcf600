/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * starts N AT_ONCE PROGRAM [ARG...]: starts PROGRAM N times as a shell does (fork, then exec), AT_ONCE of them together, and waits
 * for them. Prints the seconds that it took on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Returns the number of programs that could not be started or failed. */
static long start(long n, char **argv)
{
	long made = 0, failed = 0;
	int status;

	for (; made < n; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (!pid) {
			execv(argv[0], argv);
			_exit(127);
		}
	}
	failed = n - made;
	while (made--)
		failed += wait(&status) < 0 || status;
	return failed;
}

int main(int argc, char **argv)
{
	long n = argc > 3 ? atol(argv[1]) : 0, at_once = argc > 3 ? atol(argv[2]) : 0, failed = 0;
	double begin = seconds();

	if (n < 1 || at_once < 1) {
		fprintf(stderr, "usage: starts N AT_ONCE PROGRAM [ARG...]\n");
		return 2;
	}
	for (long left = n; left > 0 && !failed; left -= at_once)
		failed = start(left < at_once ? left : at_once, argv + 3);
	printf("%.6f\n", seconds() - begin);
	return failed != 0;
}
