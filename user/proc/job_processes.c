/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds a job's processes in one pass over /proc. The environment is the initial one (proc(5)), so a program that changes its own
 * environment is still matched.
 */
#include "proc/job_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/procfs.h"

int job_processes_add_entry(struct members *members, const char *entry)
{
	/* one byte less than the BPF programs compare: they recognise a piece of a longer string by its full length */
	if (members->nentries == IOP_MAX_AWAITED || strlen(entry) + 1 >= IOP_ENTRY_ROOM)
		return -E2BIG;
	strcpy(members->entries[members->nentries++], entry);
	return 0;
}

int job_processes_of_slurm(struct members *members, const char *job, const char *node)
{
	char entry[IOP_ENTRY_ROOM];
	int err;

	*members = (struct members){ .uid = MEMBERS_ANY_USER };
	if (!*job || strlen(job) > 10 || strspn(job, "0123456789") != strlen(job) ||
	    (node && strlen(node) >= sizeof(members->node)))
		return -EINVAL;
	strcpy(members->job, job);
	snprintf(entry, sizeof(entry), "SLURM_JOB_ID=%s", job);
	err = job_processes_add_entry(members, entry);
	if (err || !node)
		return err;
	strcpy(members->node, node);
	snprintf(entry, sizeof(entry), "SLURMD_NODENAME=%s", node);
	return job_processes_add_entry(members, entry);
}

/* ---- matching ---- */

/* Matches a whole path component: job_1 does not match job_12. */
static bool has_component(const char *path, const char *end, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = path; at && at + len <= end; at = memchr(at, '/', end - at)) {
		at += *at == '/';
		if (at + len <= end && !memcmp(at, name, len) && (at + len == end || at[len] == '/'))
			return true;
	}
	return false;
}

/* Lines "7:freezer:/slurm_n1/uid_5/job_2/step_0" (v1) or "0::/system.slice/n1_slurmstepd.scope/job_2/step_0/user/task_0" (v2); they
 * contain the node only where several daemons share a kernel. */
bool job_processes_cgroup_has(const struct members *members, const char *text)
{
	char job[80], v1[96], v2[96];

	if (!members->job[0])
		return false;
	snprintf(job, sizeof(job), "job_%s", members->job);
	snprintf(v1, sizeof(v1), "slurm_%s", members->node);
	snprintf(v2, sizeof(v2), "%s_slurmstepd.scope", members->node);
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (!has_component(line, end, job) || !memmem(line, end - line, "slurm", 5))
			continue;
		if (!members->node[0] || has_component(line, end, v1) || has_component(line, end, v2))
			return true;
	}
	return false;
}

static bool in_cgroup(const struct members *members, pid_t pid)
{
	bool in = false;
	char *text;
	size_t len;

	if (!proc_text_read(pid, "cgroup", &text, &len)) {
		in = job_processes_cgroup_has(members, text);
		free(text);
	}
	return in;
}

static bool has_entries(const struct members *members, pid_t pid)
{
	size_t len, found = 0;
	char *text;

	if (proc_text_read(pid, "environ", &text, &len))
		return false;
	for (size_t i = 0; i < members->nentries; i++)
		for (const char *at = text; at < text + len; at += strlen(at) + 1)
			if (!strcmp(at, members->entries[i])) {
				found++;
				break;
			}
	free(text);
	return members->nentries && found == members->nentries;
}

/* Root's own programs in the job (sudo, a step manager) do not make root its owner. */
static int learn_owner(struct members *members, uid_t uid)
{
	if (members->uid == MEMBERS_ANY_USER || (!members->uid && uid))
		members->uid = uid;
	return members->uid == uid || !uid ? 0 : -EPERM;
}

struct list { pid_t *v; size_t n, cap; };

static int add_pid(struct list *list, pid_t pid)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		pid_t *grown = realloc(list->v, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->v = grown;
		list->cap = cap;
	}
	list->v[list->n++] = pid;
	return 0;
}

static int job_processes_consider(struct members *members, bool any_user, pid_t pid, struct list *list)
{
	uint64_t start;
	pid_t ppid;
	uid_t uid;
	gid_t gid;
	int err;

	if (pid == getpid() || proc_ids_read(pid, &ppid, &uid, &gid, &start) || (!any_user && uid != members->uid))
		return 0;
	if (!proc_alive(pid) || (!has_entries(members, pid) && !in_cgroup(members, pid)))
		return 0;
	err = any_user ? learn_owner(members, uid) : 0;
	return err ? err : add_pid(list, pid);
}

static int job_processes_find_now(struct members *members, pid_t **pids, size_t *n, size_t max)
{
	bool any_user = members->uid == MEMBERS_ANY_USER;
	const struct dirent *entry;
	struct list list = { 0 };
	DIR *dir = opendir("/proc");
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && list.n < max && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = job_processes_consider(members, any_user, atoi(entry->d_name), &list);
	closedir(dir);
	if (err) {
		free(list.v);
		return err;
	}
	*pids = list.v;
	*n = list.n;
	return 0;
}

int job_processes_find(struct members *members, pid_t **pids, size_t *n)
{
	return job_processes_find_now(members, pids, n, SIZE_MAX);
}

int job_processes_find_first(struct members *members, pid_t *pid)
{
	pid_t *pids;
	size_t n;
	int err = job_processes_find_now(members, &pids, &n, 1);

	if (err)
		return err;
	*pid = n ? pids[0] : 0;
	free(pids);
	return n ? 0 : -ESRCH;
}

void members_job_matcher(const struct members *members, struct iop_job_matcher *job_matcher)
{
	*job_matcher = (struct iop_job_matcher){ .uid = members->uid, .on = members->nentries > 0 };
	for (size_t i = 0; i < members->nentries; i++) {
		strcpy((char *)job_matcher->entry[i].text, members->entries[i]);
		memset(job_matcher->entry[i].mask, 0xff, strlen(members->entries[i]) + 1);
	}
}
