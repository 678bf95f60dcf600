/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files STATE/jobs/ID.json, replaced by rename(2).
 */
#include "service/state.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/procfs.h"
#include "service/wire.h"

bool state_is_final(const json_t *job)
{
	const char *phase = wire_text(job, "phase");

	return !strcmp(phase, "done") || !strcmp(phase, "empty") || !strcmp(phase, "failed");
}

bool state_valid_id(const char *id)
{
	static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._@+-[]";

	return *id && *id != '.' && strlen(id) < 64 && strspn(id, allowed) == strlen(id);
}

void state_path(char *path, size_t len, const char *state_dir, const char *id)
{
	snprintf(path, len, "%s/jobs/%s.json", state_dir, id);
}

int state_save(const char *path, const json_t *job)
{
	char temporary[4200];
	int err = 0;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	if (json_dump_file(job, temporary, JSON_INDENT(1) | JSON_SORT_KEYS) || rename(temporary, path))
		err = errno ? -errno : -EIO;
	if (err)
		unlink(temporary);
	return err;
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

void state_set(const char *path, json_t *job, const char *phase, const char *message)
{
	json_t *text = json_string(message);
	int err;

	json_object_set_new(job, "phase", json_string(phase));
	json_object_set_new(job, "message", text ? text : json_string("(not UTF-8)"));
	err = state_save(path, job);
	if (err)
		fprintf(stderr, "ioprobe: %s cannot be written: %s\n", path, strerror(-err));
}

/* ---- the recorder's process: a number is used again, with another start time ---- */

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

pid_t state_process(const json_t *job)
{
	pid_t pid = json_integer_value(json_object_get(job, "pid"));

	if (pid <= 0 || !proc_alive(pid) || start_of(pid) != json_integer_value(json_object_get(job, "start_ticks")))
		return 0;
	return pid;
}
