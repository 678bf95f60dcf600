/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The jobs that are being recorded or archived now, each with its recorder; and the files of all that are known.
 */
#ifndef IOPROBE_JOBS_H
#define IOPROBE_JOBS_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "service/state.h"

#define JOBS_MAX 1100           /* at once: the policy's limit and a little for recoveries */

struct job {
	char id[STATE_ID_ROOM];
	uid_t by;               /* the client that started it */
	json_t *object;
	pid_t pid;              /* of the recorder, whether it is a child of ours or not */
	int pid_fd;
	int fd, client_fd;      /* until it has answered, and who waits for that; -1: it has, nobody */
	struct job *next;
};

struct jobs { struct job *first; size_t n; };

/* Holds a reference to the object; owns the descriptors. Returns 0 or -errno (then the descriptors stay the caller's). */
int jobs_add(struct jobs *jobs, json_t *object, pid_t pid, int pid_fd, int fd, int client_fd);
/* The same for a recorder that is a child of ours and not reaped yet, so its number is still its own; opens the pidfd. */
int jobs_add_child(struct jobs *jobs, json_t *object, pid_t pid, int fd, int client_fd);
struct job *jobs_find(const struct jobs *jobs, const char *id);
size_t jobs_count_by(const struct jobs *jobs, uid_t uid);      /* started by this client */
size_t jobs_count_users(const struct jobs *jobs);              /* started by clients that are not root */
void jobs_remove(struct jobs *jobs, struct job *job);
void jobs_deinit(struct jobs *jobs);
/* Closes what was for the answer. */
void job_answered(struct job *job);

/* Calls for the state of each job that is known, until one call returns not 0; returns that. The object is the function's to
 * change; NULL: the file is damaged. */
int jobs_states(const char *state_dir, int (*function)(void *arg, const char *path, json_t *state), void *arg);
/* Removes files and logs of jobs that ended more than a week ago, and of all but the last hundred of root's, the last twenty of each
 * user's: no user makes the service forget what it knows of others. */
void jobs_forget(const char *state_dir);

#endif
