/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for POSIX.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

struct row { char text[47]; };

static void run(void (*snippet)(const char *path, int fd, struct row *rows, size_t n), const char *path)
{
	static struct row rows[1000];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || pwrite(fd, rows, sizeof(rows), 0) != sizeof(rows))
		err(1, "%s", path);
	snippet(path, fd, rows, sizeof(rows) / sizeof(*rows));
	close(fd);
}

#define SNIPPET(name) \
	static void advice_##name(const char *path UNUSED, int fd UNUSED, struct row *rows UNUSED, size_t n UNUSED)
#define RUN(name) run(advice_##name, argv[1])
