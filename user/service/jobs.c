/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A list; there are few jobs.
 */
#include "service/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "service/state.h"
#include "service/wire.h"

#define KEEP_S (7 * 24 * 3600)
#define KEEP_ROOTS 100
#define KEEP_USERS 20

int jobs_add(struct jobs *jobs, json_t *object, pid_t pid, int pid_fd, int fd, int client_fd)
{
	struct job *job = jobs->n < JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;

	if (!job)
		return -ENOMEM;
	snprintf(job->id, sizeof(job->id), "%s", wire_text(object, "id"));
	job->by = json_integer_value(json_object_get(object, "by"));
	job->object = json_incref(object);
	job->pid = pid;
	job->pid_fd = pid_fd;
	job->fd = fd;
	job->client_fd = client_fd;
	job->next = jobs->first;
	jobs->first = job;
	jobs->n++;
	return 0;
}

int jobs_add_child(struct jobs *jobs, json_t *object, pid_t pid, int fd, int client_fd)
{
	int pid_fd = syscall(SYS_pidfd_open, pid, 0), err;      /* Linux 5.3 */

	if (pid_fd < 0)
		return -errno;
	err = jobs_add(jobs, object, pid, pid_fd, fd, client_fd);
	if (err)
		close(pid_fd);
	return err;
}

size_t jobs_count_by(const struct jobs *jobs, uid_t uid)
{
	size_t n = 0;

	for (const struct job *job = jobs->first; job; job = job->next)
		n += job->by == uid;
	return n;
}

size_t jobs_count_users(const struct jobs *jobs)
{
	return jobs->n - jobs_count_by(jobs, 0);
}

struct job *jobs_find(const struct jobs *jobs, const char *id)
{
	for (struct job *job = jobs->first; job; job = job->next)
		if (!strcmp(job->id, id))
			return job;
	return NULL;
}

void job_answered(struct job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	if (job->client_fd >= 0)
		close(job->client_fd);
	job->fd = job->client_fd = -1;
}

void jobs_remove(struct jobs *jobs, struct job *job)
{
	struct job **at = &jobs->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	jobs->n--;
	job_answered(job);
	close(job->pid_fd);
	json_decref(job->object);
	free(job);
}

void jobs_deinit(struct jobs *jobs)
{
	while (jobs->first)
		jobs_remove(jobs, jobs->first);
}

/* ---- the files ---- */

static int is_state(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 5 && !strcmp(entry->d_name + len - 5, ".json");
}

int jobs_states(const char *state_dir, int (*function)(void *arg, const char *path, json_t *state), void *arg)
{
	struct dirent **entries;
	char path[4200];
	int n, ret = 0;

	snprintf(path, sizeof(path), "%s/jobs", state_dir);
	n = scandir(path, &entries, is_state, versionsort);
	for (int i = 0; i < n; i++) {
		json_t *state = NULL;

		snprintf(path, sizeof(path), "%s/jobs/%s", state_dir, entries[i]->d_name);
		if (!ret) {
			state = state_load(path);
			ret = function(arg, path, state);
		}
		json_decref(state);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return ret;
}

struct ended { char path[4200], log[4200]; uid_t by; time_t when; };
struct all_ended { struct ended *v; size_t n; };

static int collect_ended(void *arg, const char *path, json_t *state)
{
	struct all_ended *all = arg;
	struct ended *grown;
	struct stat st;

	if (!state || !state_is_final(state) || stat(path, &st))
		return 0;
	grown = realloc(all->v, (all->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	all->v = grown;
	snprintf(grown[all->n].path, sizeof(grown->path), "%s", path);
	snprintf(grown[all->n].log, sizeof(grown->log), "%s", wire_text(state, "log"));
	grown[all->n].by = json_integer_value(json_object_get(state, "by"));
	grown[all->n++].when = st.st_mtime;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	time_t x = ((const struct ended *)a)->when, y = ((const struct ended *)b)->when;

	return (x < y) - (x > y);
}

/* Returns how many entries of the same client ended later: v is sorted, newest first. */
static size_t count_newer(const struct ended *v, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < i; k++)
		n += v[k].by == v[i].by;
	return n;
}

void jobs_forget(const char *state_dir)
{
	struct all_ended all = { 0 };

	jobs_states(state_dir, collect_ended, &all);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), newest_first);
	for (size_t i = 0; i < all.n; i++) {
		if (count_newer(all.v, i) < (all.v[i].by ? KEEP_USERS : KEEP_ROOTS) && time(NULL) - all.v[i].when < KEEP_S)
			continue;
		unlink(all.v[i].log);
		unlink(all.v[i].path);
	}
	free(all.v);
}
