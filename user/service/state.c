/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files STATE/jobs/ID.json, replaced by rename(2).
 */
#include "service/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "service/wire.h"

bool state_is_final(const json_t *job)
{
	const char *phase = wire_text(job, "phase");

	return !strcmp(phase, "done") || !strcmp(phase, "empty") || !strcmp(phase, "failed");
}

static bool is_component(const char *text, size_t room)
{
	static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._@+-[]";
	size_t len = strnlen(text, room);

	return len && *text != '.' && len < room && strspn(text, allowed) == len;
}

bool state_valid_id(const char *id)
{
	return is_component(id, STATE_ID_ROOM);
}

bool state_valid_name(const char *name)
{
	return is_component(name, STATE_NAME_ROOM);
}

void state_path(char *path, size_t len, const char *state_dir, const char *id)
{
	snprintf(path, len, "%s/jobs/%s.json", state_dir, id);
}

/* rename(2) may reach the disk before the contents do: both are synced, in this order. */
static int sync_directory(const char *path)
{
	char dir[4200];
	int fd, err = 0;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int write_file(const char *path, const json_t *job, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return -errno;
	errno = 0;
	if (json_dumpfd(job, fd, JSON_INDENT(1) | JSON_SORT_KEYS) || (sync && fsync(fd)))
		err = errno ? -errno : -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int state_write_file(const char *path, const json_t *job, bool sync)
{
	char temporary[4200];
	int err;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	err = write_file(temporary, job, sync);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err || !sync ? err : sync_directory(path);
}

int state_save(const char *path, const json_t *job)
{
	return state_write_file(path, job, true);
}

json_t *state_load(const char *path)
{
	json_t *job = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);

	if (job && !json_is_object(job)) {
		json_decref(job);
		return NULL;
	}
	return job;
}

static void note_time(json_t *job, const char *phase)
{
	json_t *times = json_object_get(job, "times");

	if (!json_is_object(times)) {
		times = json_object();
		json_object_set_new(job, "times", times);
	}
	json_object_set_new(times, phase, json_integer(time(NULL)));
}

static void state_set_phase(const char *path, json_t *job, const char *phase, const char *message, bool sync)
{
	json_t *text = json_string(message);
	int err;

	note_time(job, phase);
	json_object_set_new(job, "phase", json_string(phase));
	json_object_set_new(job, "message", text ? text : json_string("(not UTF-8)"));
	err = state_write_file(path, job, sync);
	if (err)
		fprintf(stderr,
			"ioprobe: %s: cannot save the state '%s': %s: free space there, or the next service does not know of it\n",
			path, phase, strerror(-err));
}

void state_set(const char *path, json_t *job, const char *phase, const char *message)
{
	state_set_phase(path, job, phase, message, true);
}

void state_begin(const char *path, json_t *job)
{
	state_set_phase(path, job, "starting", "", false);
}

/* ---- the recorder's process: a pid is reused, with another start time ---- */

static int64_t start_of(pid_t pid)
{
	uint64_t start;
	pid_t ppid;
	uid_t uid;
	gid_t gid;

	return proc_ids_read(pid, &ppid, &uid, &gid, &start) ? -1 : (int64_t)start;
}

void state_set_process(json_t *job, pid_t pid)
{
	json_object_set_new(job, "pid", json_integer(pid));
	json_object_set_new(job, "start_ticks", json_integer(start_of(pid)));
}

pid_t state_open_process(const json_t *job, int *pid_fd)
{
	pid_t pid = json_integer_value(json_object_get(job, "pid"));

	*pid_fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;  /* Linux 5.3 */
	if (*pid_fd < 0)
		return 0;
	if (proc_alive(pid) && start_of(pid) == json_integer_value(json_object_get(job, "start_ticks")))
		return pid;
	close(*pid_fd);
	*pid_fd = -1;
	return 0;
}
