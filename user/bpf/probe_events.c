/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Definitions are lines of tracefs' uprobe_events. Those of ended recordings that the kernel has not given up yet are adopted by
 * later ones: no recording then waits until they are removed.
 */
#include "bpf/probe_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
#define KEEPERS ((off_t)1 << 40)        /* offset of the second lock on an event */
#define CLAIM_TRIES 5           /* who looks for definitions to adopt has the lock for some us */

int probe_events_open(struct probe_events *events)
{
	*events = (struct probe_events){ .tracefs = tracefs_open(), .list = -1 };
	if (events->tracefs < 0)
		return events->tracefs;
	events->list = openat(events->tracefs, LIST, O_RDWR | O_APPEND | O_CLOEXEC);
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
	free(events->own.v);
	free(events->left.v);
	*events = (struct probe_events){ .tracefs = -1, .list = -1 };
}

/* ---- whose a definition is ---- */

/* The lock is the open file's: it ends with the last process that has the recording's list. */
static bool set_lock(const struct probe_events *events, short type, off_t at, off_t n)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n };

	return !fcntl(events->list, F_OFD_SETLK, &lock);
}

void probe_events_release(const struct probe_events *events)
{
	set_lock(events, F_UNLCK, 0, KEEPERS);
}

bool probe_events_claim(const struct probe_events *events, unsigned n)
{
	int event = events->own.v[n].event;

	if (event < 0)
		return true;
	for (int i = 0; i < CLAIM_TRIES; i++) {
		if (set_lock(events, F_WRLCK, event, 1))
			return set_lock(events, F_WRLCK, KEEPERS + event, 1);
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return false;
}

void probe_events_forget(const struct probe_events *events, unsigned n)
{
	set_lock(events, F_UNLCK, events->own.v[n].event, 1);
	set_lock(events, F_UNLCK, KEEPERS + events->own.v[n].event, 1);
}

static bool probe_events_add(struct probe_definitions *definitions, const struct probe_definition *definition)
{
	size_t cap = definitions->cap ? 2 * definitions->cap : 128;
	struct probe_definition *v;

	if (definitions->n == definitions->cap) {
		v = realloc(definitions->v, cap * sizeof(*v));
		if (!v)
			return false;
		definitions->v = v;
		definitions->cap = cap;
	}
	definitions->v[definitions->n++] = *definition;
	return true;
}

/* ---- definitions ---- */

static int write_line(const struct probe_events *events, const char *line)
{
	return write(events->list, line, strlen(line)) < 0 ? -errno : 0;
}

static int read_event(const struct probe_events *events, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "events/%s/id", name);
	return tracefs_read_number(events->tracefs, path);
}

/* Returns the event of one that is as wanted, with its lock, or -ENOENT. */
static int probe_events_adopt(struct probe_events *events, struct probe_definition *wanted)
{
	for (size_t i = 0; i < events->left.n; i++) {
		struct probe_definition *left = &events->left.v[i];

		if (left->inode != wanted->inode || left->device != wanted->device || left->offset != wanted->offset ||
		    left->is_return != wanted->is_return || !set_lock(events, F_WRLCK, left->event, 1))
			continue;
		if (read_event(events, left->name) == left->event) {
			*wanted = *left;
			events->left.v[i] = events->left.v[--events->left.n];
			return wanted->event;
		}
		set_lock(events, F_UNLCK, left->event, 1);
	}
	return -ENOENT;
}

static int probe_events_define_probe(struct probe_events *events, struct probe_definition *wanted, const char *path)
{
	char line[320];
	int err;

	snprintf(wanted->name, sizeof(wanted->name), "%s/e%u_%llx_%llx", events->group, events->defined + 1,
		 (unsigned long long)wanted->device, (unsigned long long)wanted->inode);
	snprintf(line, sizeof(line), "%c:%s %s:0x%llx\n", wanted->is_return ? 'r' : 'p', wanted->name, path,
		 (unsigned long long)wanted->offset);
	err = write_line(events, line);
	if (err) {
		wanted->name[0] = 0;
		return err;
	}
	wanted->event = read_event(events, wanted->name);
	if (wanted->event > 0)
		set_lock(events, F_WRLCK, wanted->event, 1);
	return wanted->event;
}

int probe_events_define(struct probe_events *events, bool is_return, const char *path, uint64_t offset)
{
	struct probe_definition wanted = { .offset = offset, .is_return = is_return };
	struct stat st;
	int event = -ENOENT;

	if (!stat(path, &st)) {
		wanted.device = st.st_dev;
		wanted.inode = st.st_ino;
		event = probe_events_adopt(events, &wanted);
	}
	if (event == -ENOENT)
		event = probe_events_define_probe(events, &wanted, path);
	if (!wanted.name[0])
		return event;
	if (event > 0)
		set_lock(events, F_RDLCK, KEEPERS + event, 1);
	if (!probe_events_add(&events->own, &wanted))
		return -ENOMEM;
	events->defined++;
	return event;
}

static int remove_named(const struct probe_events *events, const char *name)
{
	char line[160];

	snprintf(line, sizeof(line), "-:%s\n", name);
	return write_line(events, line);
}

int probe_events_undefine(const struct probe_events *events, unsigned n)
{
	return remove_named(events, events->own.v[n].name);
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

/* Where the kernel cannot give it up yet it may be adopted. Who has its lock uses it, or is about to remove it. */
static void remove_or_note(struct probe_events *events, struct probe_definition *left)
{
	unsigned long long device, inode;

	left->event = read_event(events, left->name);
	if (left->event < 0 || !set_lock(events, F_WRLCK, left->event, 1))
		return;
	if (remove_named(events, left->name) == -EBUSY &&
	    sscanf(strchr(left->name, '/'), "/e%*u_%llx_%llx", &device, &inode) == 2) {
		left->device = device;
		left->inode = inode;
		probe_events_add(&events->left, left);
	}
	set_lock(events, F_UNLCK, left->event, 1);
}

static void remove_left(struct probe_events *events)
{
	int fd = openat(events->tracefs, LIST, O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	if (fd >= 0 && !list)
		close(fd);
	while (list && fgets(line, sizeof(line), list)) {
		struct probe_definition left = { .is_return = line[0] == 'r' };
		const char *colon = strrchr(line, ':');

		if (sscanf(line, "%*[pr]:%119s ", left.name) != 1 || strncmp(left.name, PREFIX, strlen(PREFIX)) ||
		    !strchr(left.name, '/') || !owner_has_ended(left.name))
			continue;
		left.offset = strtoull(colon + 1, NULL, 0);
		remove_or_note(events, &left);
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
