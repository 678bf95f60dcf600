/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The number of a tracepoint is in tracefs. The event is opened on one CPU; its program runs on all, because the kernel attaches
 * the programs to the tracepoint.
 */
#include "bpf/syscall_events.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/tracefs.h"

/* Returns the number in this file below tracefs, or -errno. */
static int syscall_events_read_number(const char *path)
{
	int tracefs = tracefs_open(), number;

	if (tracefs < 0)
		return tracefs;
	number = tracefs_read_number(tracefs, path);
	close(tracefs);
	return number;
}

static int event_number(bool exit)
{
	return syscall_events_read_number(exit ? "events/raw_syscalls/sys_exit/id" : "events/raw_syscalls/sys_enter/id");
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
