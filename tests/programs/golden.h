/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the golden programs share: every failure that is not meant ends the program with one line and status 3.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Through write(2) and not stdio: a program's stdio calls are all meant and counted. */
static inline void die(const char *what)
{
	dprintf(2, "golden program: %s: %s\n", what, strerror(errno));
	_exit(3);
}

static inline void must(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* n writes of size bytes, size at most 4096. */
static inline void write_n(int fd, int n, size_t size)
{
	static const char block[4096];

	for (int i = 0; i < n; i++)
		must(write(fd, block, size) == (ssize_t)size, "write");
}

/* DIR/name in a buffer that the caller has. */
static inline const char *in_dir(char *buf, size_t len, const char *dir, const char *name)
{
	must((size_t)snprintf(buf, len, "%s/%s", dir, name) < len, "path too long");
	return buf;
}
#define IN_DIR(dir, name) in_dir((char[4096]){ 0 }, 4096, dir, name)

#endif
