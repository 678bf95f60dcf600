/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Planted programs: PROGRAM CASE|all bad|good DIRECTORY makes one known mistake, or does the same work without it. The names of
 * cases are those in the detectors' table (.test). "planted: CASE" marks the lines that the report must name.
 *
 * PROGRAM CASE bad|good DIRECTORY TIMES repeats a case, each time in a new directory below. With PLANTED_TIME=FILE in the
 * environment the program writes the seconds of its work to that file: without the start and end of processes, and without the
 * preparation (the work begins where the last helper that makes files returns). Ranks begin and end it together.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024
#define MIB (1024 * 1024)

struct planted { const char *name; void (*run)(bool bad, const char *dir); };

static inline const char *in(const char *dir, const char *name)
{
	static char path[2][4096];
	static unsigned turn;
	char *to = path[turn++ % 2];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

#define CHECK(expression) do { if (!(expression)) err(1, "%s", #expression); } while (0)

/* NULL: one process; else all ranks wait for each other. */
static void (*wait_for_all)(void);
static bool is_first = true;   /* rank 0 */
static double work_began_s;

static inline double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* What was done before is preparation. */
static inline void begin_work(void)
{
	work_began_s = clock_s();
}

static inline double end_work(const char *time_path)
{
	if (time_path && wait_for_all)
		wait_for_all();
	return clock_s() - work_began_s;
}

static inline void write_seconds(const char *path, double seconds)
{
	FILE *f = path ? fopen(path, "w") : NULL;

	CHECK(!path || (f && fprintf(f, "%.6f\n", seconds) > 0 && !fclose(f)));
}

/* Returns the seconds of the work. */
static inline double run_times(const struct planted *c, bool bad, const char *dir, int times)
{
	const char *time_path = getenv("PLANTED_TIME");
	double seconds = 0;

	for (int i = 0; i < times; i++) {
		char own[4096];

		snprintf(own, sizeof(own), "%s/%d", dir, i);
		CHECK(times == 1 || !mkdir(own, 0755) || errno == EEXIST);      /* one rank makes it */
		if (time_path && wait_for_all)
			wait_for_all();
		begin_work();
		c->run(bad, times == 1 ? dir : own);
		seconds += end_work(time_path);
	}
	return seconds;
}

/* Each case in a process and a directory of its own, so that it is judged by its own wall time: a started one, since a forked one
 * runs before all its probes are in place. */
static inline int run_all(char *program, const struct planted *cases, size_t n, char *twin, const char *dir)
{
	for (size_t i = 0; i < n; i++) {
		char own[4096];
		int status;
		pid_t pid;

		snprintf(own, sizeof(own), "%s/%s", dir, cases[i].name);
		CHECK(!mkdir(own, 0755));
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			execv(program, (char *[]){ program, (char *)cases[i].name, twin, own, NULL });
			err(1, "%s", program);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	return 0;
}

static inline int run_case(int argc, char **argv, const struct planted *cases, size_t n)
{
	int times = argc == 5 ? atoi(argv[4]) : 1;

	if (argc < 4 || argc > 5 || times < 1)
		errx(2, "usage: %s CASE|all bad|good DIRECTORY [TIMES]", argv[0]);
	if (!strcmp(argv[1], "all"))
		return run_all(argv[0], cases, n, argv[2], argv[3]);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(cases[i].name, argv[1])) {
			double seconds = run_times(&cases[i], !strcmp(argv[2], "bad"), argv[3], times);

			if (is_first)
				write_seconds(getenv("PLANTED_TIME"), seconds);
			return 0;
		}
	errx(2, "%s: no such case", argv[1]);
}

#endif
