/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The number of a tracepoint is in tracefs; if that is not mounted, an instance outside the mount tree is used. The event is opened
 * on one CPU; its program runs on all, because the kernel attaches the programs to the tracepoint.
 */
#include "bpf/syscall_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int open_tracefs(void)
{
	int fd = open("/sys/kernel/tracing/events", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return mount_tracefs();
	close(fd);
	fd = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns the number in this file below tracefs, or -errno. */
static int read_number(const char *path)
{
	int tracefs = open_tracefs(), fd;
	char text[32] = "";
	ssize_t n;

	if (tracefs < 0)
		return tracefs;
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	close(tracefs);
	return n < 0 ? n : atoi(text) > 0 ? atoi(text) : -EINVAL;
}

static int event_number(bool exit)
{
	return read_number(exit ? "events/raw_syscalls/sys_exit/id" : "events/raw_syscalls/sys_enter/id");
}

int syscall_events_find(void)
{
	int enter = event_number(false), exit = event_number(true);

	return enter < 0 ? enter : exit < 0 ? exit : 0;
}

int syscall_events_attach(int program_fd, bool exit)
{
	struct { uint32_t prog_fd, target_fd, attach_type, flags; uint64_t cookie; } link = { .prog_fd = program_fd };
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	int number = event_number(exit), cpu = sched_getcpu(), fd, link_fd;

	if (number < 0)
		return number;
	attr.config = number;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu < 0 ? 0 : cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link.target_fd = fd;
	link.attach_type = BPF_PERF_EVENT;
	link_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	if (link_fd < 0)
		link_fd = -errno;
	close(fd);      /* the link keeps the event */
	return link_fd;
}
