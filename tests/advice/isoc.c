/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for ISO C.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

struct row { char text[47]; };

static void run(void (*snippet)(const char *path, FILE *file, struct row *rows, size_t n), const char *path)
{
	static struct row rows[1000];
	FILE *file = fopen(path, "w");

	if (!file || fwrite(rows, sizeof(*rows), 1000, file) != 1000 || fclose(file) || !(file = fopen(path, "r+")))
		err(1, "%s", path);
	snippet(path, file, rows, 1000);
	if (fclose(file))
		err(1, "%s", path);
}

#define SNIPPET(name) \
	static void advice_##name(const char *path UNUSED, FILE *file UNUSED, struct row *rows UNUSED, size_t n UNUSED)
#define RUN(name) run(advice_##name, argv[1])
