/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Access to the tracing file system.
 */
#include "bpf/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/private_mount.h"

int tracefs_open(void)
{
	int fd = open("/sys/kernel/tracing/events", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return private_mount("tracefs");
	close(fd);
	fd = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int tracefs_read_number(int tracefs, const char *path)
{
	int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : atoi(text) > 0 ? atoi(text) : -EINVAL;
}
