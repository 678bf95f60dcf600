/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Planted programs: PROGRAM CASE bad|good DIRECTORY makes one known mistake, or does the same work without it. The names of cases are
 * those in the detectors' table (.test).
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
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024
#define MIB (1024 * 1024)

struct planted { const char *name; void (*run)(bool bad, const char *dir); };

static inline const char *in(const char *dir, const char *name)
{
	static char path[2][4096];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static inline int run_case(int argc, char **argv, const struct planted *cases, size_t n)
{
	if (argc != 4)
		errx(2, "usage: %s CASE bad|good DIRECTORY", argv[0]);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run(!strcmp(argv[2], "bad"), argv[3]);
			return 0;
		}
	errx(2, "%s: no such case", argv[1]);
}

#define CHECK(expression) do { if (!(expression)) err(1, "%s", #expression); } while (0)

#endif
