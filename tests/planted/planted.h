/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Planted programs: PROGRAM CASE|all bad|good DIRECTORY makes one known mistake, or does the same work without it. The names of
 * cases are those in the detectors' table (.test). "planted: CASE" marks the lines that the report must name.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
	if (argc != 4)
		errx(2, "usage: %s CASE|all bad|good DIRECTORY", argv[0]);
	if (!strcmp(argv[1], "all"))
		return run_all(argv[0], cases, n, argv[2], argv[3]);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run(!strcmp(argv[2], "bad"), argv[3]);
			return 0;
		}
	errx(2, "%s: no such case", argv[1]);
}

#endif
