/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A list; there are few.
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
#define KEEP_JOBS 100

int jobs_add(struct jobs *jobs, json_t *object, pid_t pid, int fd, int client_fd)
{
	struct job *job = jobs->n < JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;

	if (!job)
		return -ENOMEM;
	job->pid_fd = syscall(SYS_pidfd_open, pid, 0);  /* Linux 5.3 */
	if (job->pid_fd < 0) {
		int err = -errno;

		free(job);
		return err;
	}
	snprintf(job->id, sizeof(job->id), "%s", wire_text(object, "id"));
	job->object = json_incref(object);
	job->fd = fd;
	job->client_fd = client_fd;
	job->next = jobs->first;
	jobs->first = job;
	jobs->n++;
	return 0;
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
		if (!ret)
			state = state_load(path);
		if (state)
			ret = function(arg, path, state);
		json_decref(state);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return ret;
}

struct ended { char path[4200], log[4200]; time_t when; };
struct all_ended { struct ended *v; size_t n; };

static int collect_ended(void *arg, const char *path, json_t *state)
{
	struct all_ended *all = arg;
	struct ended *grown;
	struct stat st;

	if (!state_is_final(state) || stat(path, &st))
		return 0;
	grown = realloc(all->v, (all->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	all->v = grown;
	snprintf(grown[all->n].path, sizeof(grown->path), "%s", path);
	snprintf(grown[all->n].log, sizeof(grown->log), "%s", wire_text(state, "log"));
	grown[all->n++].when = st.st_mtime;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	time_t x = ((const struct ended *)a)->when, y = ((const struct ended *)b)->when;

	return (x < y) - (x > y);
}

void jobs_forget(const char *state_dir)
{
	struct all_ended all = { 0 };

	jobs_states(state_dir, collect_ended, &all);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), newest_first);
	for (size_t i = 0; i < all.n; i++) {
		if (i < KEEP_JOBS && time(NULL) - all.v[i].when < KEEP_S)
			continue;
		unlink(all.v[i].log);
		unlink(all.v[i].path);
	}
	free(all.v);
}
