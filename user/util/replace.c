/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* In the same directory, so that the rename is one step. Prometheus' textfile collector reads *.prom only, not *.next. */
int file_replace(int dir, const char *name, const char *text, size_t len)
{
	char next[PATH_MAX];
	int fd, ret = 0;

	if (snprintf(next, sizeof(next), "%s.next", name) >= (int)sizeof(next))
		return -ENAMETOOLONG;
	unlinkat(dir, next, 0);
	fd = openat(dir, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, text, len) != (ssize_t)len)
		ret = errno ? -errno : -ENOSPC;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(dir, next, dir, name))
		ret = -errno;
	if (ret)
		unlinkat(dir, next, 0);
	return ret;
}
