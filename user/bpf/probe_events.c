/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Definitions are lines of tracefs' uprobe_events.
 */
#include "bpf/probe_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/tracefs.h"
#include "bpf/rings.h"

#define LIST "uprobe_events"
#define PREFIX "ioprobe_"
#define LOCK_TRIES 200
#define LOCK_PAUSE_MS 5

int probe_events_open(struct probe_events *events)
{
	*events = (struct probe_events){ .tracefs = tracefs_open(), .list = -1 };
	if (events->tracefs < 0)
		return events->tracefs;
	events->list = openat(events->tracefs, LIST, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (events->list >= 0)
		return 0;
	close(events->tracefs);
	events->tracefs = -1;
	return -errno;
}

void probe_events_close(struct probe_events *events)
{
	if (events->tracefs >= 0)
		close(events->tracefs);
	if (events->list >= 0)
		close(events->list);
	*events = (struct probe_events){ .tracefs = -1, .list = -1 };
}

/* ---- definitions ---- */

static int write_line(const struct probe_events *events, const char *line)
{
	return write(events->list, line, strlen(line)) < 0 ? -errno : 0;
}

int probe_events_define(struct probe_events *events, bool is_return, const char *path, uint64_t offset)
{
	char text[256];
	int err;

	snprintf(text, sizeof(text), "%c:%s/e%u %s:0x%llx\n", is_return ? 'r' : 'p', events->group, events->defined + 1, path,
		 (unsigned long long)offset);
	err = write_line(events, text);
	if (err)
		return err;
	events->defined++;
	snprintf(text, sizeof(text), "events/%s/e%u/id", events->group, events->defined);
	return tracefs_read_number(events->tracefs, text);
}

int probe_events_undefine(const struct probe_events *events, unsigned n)
{
	char line[80];

	snprintf(line, sizeof(line), "-:%s/e%u\n", events->group, n);
	return write_line(events, line);
}

/* ---- turns ---- */

/* A remover that was stopped (SIGSTOP) must not stop a recording. */
void probe_events_lock_placing(const struct probe_events *events)
{
	for (int i = 0; i < LOCK_TRIES && flock(events->list, LOCK_SH | LOCK_NB); i++)
		poll(NULL, 0, LOCK_PAUSE_MS);
}

void probe_events_lock_removing(const struct probe_events *events)
{
	flock(events->list, LOCK_EX);
}

void probe_events_unlock(const struct probe_events *events)
{
	flock(events->list, LOCK_UN);
}

/* Any file that all of them have, but for the list. */
int probe_events_await_turn(const struct probe_events *events)
{
	int fd = openat(events->tracefs, "uprobe_profile", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	flock(fd, LOCK_EX);
	return fd;
}

/* ---- what others left ---- */

static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Pids mean something in our namespace only. */
static bool owner_has_ended(const char *group)
{
	unsigned long long namespace;
	int pid;

	if (sscanf(group, PREFIX "%llx_%d_", &namespace, &pid) != 2 || namespace != pid_namespace())
		return false;
	return kill(pid, 0) && errno == ESRCH;
}

static void remove_left(const struct probe_events *events)
{
	int fd = openat(events->tracefs, LIST, O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512], name[128], removal[160];

	if (fd >= 0 && !list)
		close(fd);
	while (list && fgets(line, sizeof(line), list)) {
		if (sscanf(line, "%*[pr]:%127s ", name) != 1 || strncmp(name, PREFIX, strlen(PREFIX)) || !owner_has_ended(name))
			continue;
		snprintf(removal, sizeof(removal), "-:%s\n", name);
		write_line(events, removal);    /* the kernel may still be removing its probe: then the next one does it */
	}
	if (list)
		fclose(list);
}

void probe_events_begin(struct probe_events *events)
{
	snprintf(events->group, sizeof(events->group), PREFIX "%llx_%d_%llx", pid_namespace(), getpid(),
		 (unsigned long long)monotonic_ns());
	remove_left(events);
}

/* ---- events ---- */

static int open_event(struct perf_event_attr *attr, pid_t tid, int leader)
{
	int fd = syscall(SYS_perf_event_open, attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The program of another event on the same definition runs without this one being enabled: it says no more than which process. */
int probe_event_open(int event, pid_t tid, int leader)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = event, .disabled = 1 };

	return open_event(&attr, tid, leader);
}

int probe_event_keep(int event, pid_t pid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = event, .disabled = 1,
					.enable_on_exec = 1 };

	return open_event(&attr, pid, -1);
}

int probe_event_lead(pid_t tid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.disabled = 1 };

	return open_event(&attr, tid, -1);
}
