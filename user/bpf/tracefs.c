/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Access to the tracing file system.
 */
#include "bpf/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/mount.h of Linux 5.2 */
#define FSOPEN_CLOSE_ON_EXEC 1
#define FSCONFIG_COMMAND_CREATE 6
#define FSMOUNT_CLOSE_ON_EXEC 1

static int mount_tracefs(void)
{
	int context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOSE_ON_EXEC), mount_fd;

	if (context < 0)
		return -errno;
	mount_fd = syscall(SYS_fsconfig, context, FSCONFIG_COMMAND_CREATE, NULL, NULL, 0);
	if (!mount_fd)
		mount_fd = syscall(SYS_fsmount, context, FSMOUNT_CLOSE_ON_EXEC, 0);
	if (mount_fd < 0)
		mount_fd = -errno;
	close(context);
	return mount_fd;
}

int tracefs_open(void)
{
	int fd = open("/sys/kernel/tracing/events", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return mount_tracefs();
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
