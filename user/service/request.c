/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The job object is built from scratch, field by field: a client cannot set any other field.
 */
#include "service/request.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/job_processes.h"
#include "proc/procfs.h"
#include "service/state.h"
#include "service/wire.h"

#define MAX_TEXT 4096

struct refusal { char *why; size_t len; };

static int request_refuse(const struct refusal *refusal, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int request_refuse(const struct refusal *refusal, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(refusal->why, refusal->len, format, args);
	va_end(args);
	wire_make_printable(refusal->why);
	return err;
}

void request_recording_id(char *id, size_t len, const char *job, uid_t uid)
{
	if (uid)
		snprintf(id, len, "u%u.%s", uid, job);
	else
		snprintf(id, len, "%s", job);
}

/* ---- fields ---- */

static int request_copy_text(json_t *job, const json_t *message, const char *key, const struct refusal *refusal)
{
	json_t *value = json_object_get(message, key);

	if (!value)
		return 0;
	if (!json_is_string(value) || json_string_length(value) >= MAX_TEXT)
		return request_refuse(refusal, -EINVAL, "job %s: its %s is not a text of less than %d bytes: correct the request",
				      wire_text(job, "job"), key, MAX_TEXT);
	return json_object_set(job, key, value) ? -ENOMEM : 0;
}

static int copy_id(json_t *job, const json_t *message, const char *key, const struct refusal *refusal)
{
	const json_t *value = json_object_get(message, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || number >= UINT32_MAX)
		return request_refuse(refusal, -EINVAL,
				      "job %s: its user and group are missing or no numbers: give --uid and --gid",
				      wire_text(job, "job"));
	return json_object_set_new(job, key, json_integer(number)) ? -ENOMEM : 0;
}

static int copy_entries(json_t *job, const json_t *message, const struct refusal *refusal)
{
	const json_t *entries = json_object_get(message, "entries");
	json_t *copy = json_array();

	json_object_set_new(job, "entries", copy);
	if (json_array_size(entries) > IOP_MAX_AWAITED)
		return request_refuse(refusal, -E2BIG, "job %s: %zu entries of the environment, at most %d are allowed: name fewer",
				      wire_text(job, "job"), json_array_size(entries), IOP_MAX_AWAITED);
	for (size_t i = 0; i < json_array_size(entries); i++) {
		json_t *entry = json_array_get(entries, i);
		const char *text = json_string_value(entry);

		if (!text || !strchr(text, '=') || *text == '=' || strlen(text) + 1 >= IOP_ENTRY_ROOM)
			return request_refuse(refusal, -EINVAL,
					      "job %s: entry %zu is not NAME=VALUE of at most %d bytes: correct it",
					      wire_text(job, "job"), i + 1, IOP_ENTRY_ROOM - 2);
		json_array_append(copy, entry);
	}
	return 0;
}

static int copy_pids(json_t *job, const json_t *message, size_t max, const struct refusal *refusal)
{
	const json_t *pids = json_object_get(message, "pids");
	json_t *copy = json_array();

	json_object_set_new(job, "pids", copy);
	if (json_array_size(pids) > max)
		return request_refuse(refusal, -E2BIG,
				      "job %s: %zu processes, at most %zu are allowed: name a common ancestor of them",
				      wire_text(job, "job"), json_array_size(pids), max);
	for (size_t i = 0; i < json_array_size(pids); i++) {
		json_int_t pid = json_integer_value(json_array_get(pids, i));

		if (pid <= 0 || pid > INT32_MAX)
			return request_refuse(refusal, -EINVAL,
					      "job %s: process %zu has no valid number: give the id of a running process",
					      wire_text(job, "job"), i + 1);
		json_array_append_new(copy, json_integer(pid));
	}
	return 0;
}

/* ---- fields by privilege of the client ---- */

static int fill_for_root(json_t *job, const json_t *message, const struct request_site *site, const struct refusal *refusal)
{
	static const char *const texts[] = { "user", "account", "comment", "cluster", "node", "work_dir" };
	int err = copy_id(job, message, "uid", refusal);

	if (!err)
		err = copy_id(job, message, "gid", refusal);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = request_copy_text(job, message, texts[i], refusal);
	if (!err && !*wire_text(job, "node"))
		json_object_set_new(job, "node", json_string(site->host));
	return err ? err : copy_pids(job, message, REQUEST_MAX_PIDS, refusal);
}

static int fill_for_user(json_t *job, const json_t *message, const struct ucred *peer, const struct request_site *site,
			 const struct refusal *refusal)
{
	if (json_is_true(json_object_get(message, "always")))
		return request_refuse(refusal, -EPERM,
				      "job %s: --always is for root: remove it, users' requests need no rule of the "
				      "policy",
				      wire_text(job, "job"));
	json_object_set_new(job, "uid", json_integer(peer->uid));
	json_object_set_new(job, "gid", json_integer(peer->gid));
	json_object_set_new(job, "node", json_string(site->host));
	return copy_pids(job, message, REQUEST_MAX_USER_PIDS, refusal);
}

/* Adds the environment entries by which the job's programs are recognised, unless the request has entries or processes. */
static int name_entries(json_t *job, const struct request_site *site)
{
	json_t *entries = json_object_get(job, "entries");

	if (json_array_size(entries) || json_array_size(json_object_get(job, "pids")))
		return 0;
	json_array_append_new(entries, json_sprintf("SLURM_JOB_ID=%s", wire_text(job, "job")));
	if (site->node)
		json_array_append_new(entries, json_sprintf("SLURMD_NODENAME=%s", site->node));
	return 0;
}

static int request_fill(json_t *job, const json_t *message, const struct ucred *peer, const struct request_site *site,
			const struct refusal *refusal)
{
	char id[2 * STATE_ID_ROOM];
	int err;

	err = request_copy_text(job, message, "job", refusal);
	if (err)
		return err;
	request_recording_id(id, sizeof(id), wire_text(job, "job"), peer->uid);
	if (!state_valid_id(wire_text(job, "job")) || !state_valid_id(id))
		return request_refuse(refusal, -EINVAL,
				      "'%.64s' is not a job id: give at most %d of the characters a-z A-Z 0-9 . _ @ + "
				      "- [ ]",
				      wire_text(job, "job"), STATE_ID_ROOM - 1 - (peer->uid ? 12 : 0));
	json_object_set_new(job, "id", json_string(id));
	json_object_set_new(job, "by", json_integer(peer->uid));
	err = peer->uid ? fill_for_user(job, message, peer, site, refusal) : fill_for_root(job, message, site, refusal);
	if (!err)
		err = copy_entries(job, message, refusal);
	if (site->node)
		json_object_set_new(job, "node", json_string(site->node));
	if (*site->cluster)
		json_object_set_new(job, "cluster", json_string(site->cluster));
	return err ? err : name_entries(job, site);
}

json_t *request_job(const json_t *message, const struct ucred *peer, const struct request_site *site, char *why, size_t why_len)
{
	struct refusal refusal = { why, why_len };
	json_t *job = json_object();

	snprintf(why, why_len, "out of memory");
	if (job && !request_fill(job, message, peer, site, &refusal))
		return job;
	json_decref(job);
	return NULL;
}

/* ---- processes ---- */

/* The pidfd is opened first: what is then read from /proc belongs to the process that it refers to, as long as that one lives. The
 * /proc directory of a process with privileges beyond its user's belongs to root. */
static bool is_own_process(pid_t pid, uid_t uid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { fd, POLLIN, 0 };
	char path[64];
	struct stat st;
	bool own;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	own = !stat(path, &st) && (!uid || st.st_uid == uid) && !poll(&ended, 1, 0);
	close(fd);
	return own;
}

static pid_t first_of_job(const json_t *job, uid_t uid)
{
	const json_t *entries = json_object_get(job, "entries");
	struct members members = { .uid = uid };
	pid_t pid = 0;

	snprintf(members.job, sizeof(members.job), "%s", wire_text(job, "job"));
	for (size_t i = 0; i < json_array_size(entries); i++)
		if (job_processes_add_entry(&members, json_string_value(json_array_get(entries, i))))
			return 0;
	return job_processes_find_first(&members, &pid) ? 0 : pid;
}

int request_check_processes(json_t *job, uid_t uid, char *why, size_t why_len)
{
	const struct refusal refusal = { why, why_len };
	const json_t *pids = json_object_get(job, "pids");
	pid_t first = json_integer_value(json_array_get(pids, 0));
	char cwd[MAX_TEXT];

	for (size_t i = 0; i < json_array_size(pids); i++) {
		pid_t pid = json_integer_value(json_array_get(pids, i));

		if (!is_own_process(pid, uid))
			return request_refuse(&refusal, -EPERM, "process %d does not exist%s: name a running process", pid,
					      uid ? " or is not yours" : "");
		if (proc_is_kernel_thread(pid))
			return request_refuse(&refusal, -EINVAL, "process %d is a kernel thread: name a user process",
					      pid);
	}
	if (!uid)
		return 0;       /* a prolog announces a job before its first process */
	if (!first)
		first = first_of_job(job, uid);
	if (!first || !is_own_process(first, uid))
		return request_refuse(
			&refusal, -ESRCH,
			"job %s: no process of yours on this node belongs to it: start it when the job runs, or give --pid",
			wire_text(job, "job"));
	if (!proc_link_read(first, "cwd", cwd, sizeof(cwd)))
		json_object_set_new(job, "work_dir", json_string(cwd));
	return 0;
}
