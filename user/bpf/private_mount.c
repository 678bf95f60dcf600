/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "bpf/private_mount.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/mount.h of Linux 5.2 */
#define FSOPEN_CLOSE_ON_EXEC 1
#define FSCONFIG_COMMAND_CREATE 6
#define FSMOUNT_CLOSE_ON_EXEC 1

int private_mount(const char *type)
{
	int context = syscall(SYS_fsopen, type, FSOPEN_CLOSE_ON_EXEC), mount_fd;

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
