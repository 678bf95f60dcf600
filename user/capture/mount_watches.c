/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One open mountinfo per mount namespace; the kernel reports a change of the table as POLLPRI on it.
 */
#include "capture/mount_watches.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/notes.h"
#include "proc/procfs.h"

struct mount_watch { char ns[64]; int fd; pid_t pid; struct mount_watch *next; };

int mount_watches_add(struct mount_watch **watches, struct spool_writer *spool, pid_t pid)
{
	struct mount_watch *watch;
	char ns[64], path[64];

	if (proc_link_read(pid, "ns/mnt", ns, sizeof(ns)))
		return 0;
	for (watch = *watches; watch; watch = watch->next)
		if (!strcmp(watch->ns, ns))
			return 0;
	watch = calloc(1, sizeof(*watch));
	if (watch) {
		memcpy(watch->ns, ns, sizeof(ns));
		watch->pid = pid;
		snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
		watch->fd = open(path, O_RDONLY | O_CLOEXEC);
		watch->next = *watches;
		*watches = watch;
	}
	note_mounts(spool, pid);
	return watch ? 0 : -ENOMEM;
}

void mount_watches_check(const struct mount_watch *watches, struct spool_writer *spool,
			 pid_t (*find)(void *arg, const char *namespace), void *arg)
{
	for (const struct mount_watch *watch = watches; watch; watch = watch->next) {
		struct pollfd poll_fd = { watch->fd, POLLPRI, 0 };
		pid_t pid;

		if (watch->fd < 0 || poll(&poll_fd, 1, 0) != 1 || !(poll_fd.revents & (POLLPRI | POLLERR)))
			continue;
		pid = find(arg, watch->ns);
		note_mounts(spool, pid ? pid : watch->pid);
	}
}

void mount_watches_destroy(struct mount_watch **watches)
{
	struct mount_watch *watch;

	while ((watch = *watches)) {
		*watches = watch->next;
		if (watch->fd >= 0)
			close(watch->fd);
		free(watch);
	}
}
