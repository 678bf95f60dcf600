/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Tracepoint ids come from tracefs; each becomes a perf event that runs the BPF program for all tasks on all CPUs.
 */
#include "capture/tracepoints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

struct tracepoints { int *fds; size_t n; };

int tracefs_open(void)
{
	int fd = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fs;

	if (fd >= 0 && !faccessat(fd, "events", R_OK, 0))
		return fd;
	if (fd >= 0)
		close(fd);
	fs = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	fd = syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) ? -1 : (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		fd = -errno;
	close(fs);
	return fd;
}

/* Some system calls' kernel names differ from the user's. */
static const char *kernel_name(const char *name)
{
	static const char *const names[][2] = {
		{ "stat", "newstat" }, { "lstat", "newlstat" }, { "fstat", "newfstat" }, { "sendfile", "sendfile64" },
		{ "umount2", "umount" }, { "uname", "newuname" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static int tracepoint_id(int tracefs, const char *prefix, const char *name)
{
	char path[128], text[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "events/syscalls/%s_%s/id", prefix, kernel_name(name));
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = 0;
	return atoi(text);
}

static int attach_id(int id, int program_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id, .sample_period = 1, .wakeup_events = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* The exit first: an enter without its exit would stay open, an exit without its enter is ignored. */
static int attach_pair(struct tracepoints *tracepoints, int tracefs, const char *name, int enter_fd, int exit_fd)
{
	int exit_id = tracepoint_id(tracefs, "sys_exit", name), enter_id = tracepoint_id(tracefs, "sys_enter", name), fd;

	if (exit_id < 0 || enter_id < 0)
		return exit_id < 0 ? exit_id : enter_id;
	fd = attach_id(exit_id, exit_fd);
	if (fd < 0)
		return fd;
	tracepoints->fds[tracepoints->n++] = fd;
	fd = attach_id(enter_id, enter_fd);
	if (fd < 0)
		return fd;
	tracepoints->fds[tracepoints->n++] = fd;
	return 0;
}

int tracepoints_attach_syscalls(struct tracepoints **out, const struct table_set *set, int enter_fd, int exit_fd,
				void (*missing)(void *, const char *, const char *), void *arg, char *err_text, size_t err_len)
{
	struct tracepoints *tracepoints = calloc(1, sizeof(*tracepoints));
	int tracefs = tracefs_open(), err = 0;

	if (tracefs < 0 || !tracepoints) {
		snprintf(err_text, err_len, "cannot open tracefs for the system calls' tracepoints: %s", strerror(tracefs < 0 ? -tracefs : ENOMEM));
		free(tracepoints);
		return tracefs < 0 ? tracefs : -ENOMEM;
	}
	tracepoints->fds = calloc(set->nrows * 2 + 1, sizeof(int));
	for (size_t i = 0; i < set->nrows && tracepoints->fds && !err; i++) {
		const struct table_row *row = &set->rows[i];

		if (row->syscall_nr < 0)
			continue;
		err = attach_pair(tracepoints, tracefs, row->name, enter_fd, exit_fd);
		if (err == -ENOENT) {
			missing(arg, row->name, "this kernel has no such tracepoint");
			err = 0;
		} else if (err) {
			snprintf(err_text, err_len, "cannot attach to the tracepoint of system call %s: %s", row->name, strerror(-err));
		}
	}
	close(tracefs);
	if (!tracepoints->fds)
		err = -ENOMEM;
	if (err) {
		tracepoints_detach(tracepoints);
		return err;
	}
	*out = tracepoints;
	return 0;
}

/* Closing waits for a grace period of the kernel each time: several at once share it. */
#define CLOSERS 32
struct closer { struct tracepoints *tracepoints; size_t first; pthread_t thread; };

static void *close_some(void *arg)
{
	struct closer *closer = arg;

	for (size_t i = closer->first; i < closer->tracepoints->n; i += CLOSERS)
		close(closer->tracepoints->fds[i]);
	return NULL;
}

void tracepoints_detach(struct tracepoints *tracepoints)
{
	struct closer closers[CLOSERS];
	size_t started = 0;

	if (!tracepoints)
		return;
	for (size_t i = 0; i < tracepoints->n; i++)
		ioctl(tracepoints->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < CLOSERS; i++) {
		closers[i] = (struct closer){ tracepoints, i, 0 };
		if (pthread_create(&closers[i].thread, NULL, close_some, &closers[i])) {
			close_some(&closers[i]);
			continue;
		}
		closers[started++].thread = closers[i].thread;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(closers[i].thread, NULL);
	free(tracepoints->fds);
	free(tracepoints);
}
