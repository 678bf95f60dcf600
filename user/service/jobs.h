/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The jobs that are being recorded or archived, each with its recorder; and the state files of all known jobs.
 */
#ifndef IOPROBE_JOBS_H
#define IOPROBE_JOBS_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "service/state.h"

#define JOBS_MAX 1100           /* at the same time: the policy's limit, and some recoveries */

struct job {
	char id[STATE_ID_ROOM];
	uid_t by;               /* uid of the client that started it */
	json_t *object;
	pid_t pid;              /* of the recorder, which may be a child of an earlier service */
	int pid_fd;
	int fd, client_fd;      /* fd: until it has answered; client_fd: the client that waits for the answer; -1: closed */
	struct job *next;
};

struct jobs { struct job *first; size_t n; };

/* Takes a reference to the object and ownership of the descriptors. Returns 0 or -errno (then the descriptors stay the
 * caller's). */
int jobs_add(struct jobs *jobs, json_t *object, pid_t pid, int pid_fd, int fd, int client_fd);
/* The same for a recorder that is a child not yet reaped, so that its pid cannot be reused; opens the pidfd. */
int jobs_add_child(struct jobs *jobs, json_t *object, pid_t pid, int fd, int client_fd);
struct job *jobs_find(const struct jobs *jobs, const char *id);
size_t jobs_count_by(const struct jobs *jobs, uid_t uid);      /* started by this client */
size_t jobs_count_users(const struct jobs *jobs);              /* started by clients that are not root */
void jobs_remove(struct jobs *jobs, struct job *job);
void jobs_deinit(struct jobs *jobs);
/* Closes the descriptors for the answer. */
void job_answered(struct job *job);

/* Calls function for the state of each known job until a call returns a value other than 0; returns that value. function may change
 * the object; NULL: the file is damaged. */
int jobs_states(const char *state_dir, int (*function)(void *arg, const char *path, json_t *state), void *arg);
/* Removes state files and logs of jobs that ended more than a week ago, and all but the last hundred of root and the last twenty of
 * each user: no user can make the service drop the state of others. */
void jobs_forget(const char *state_dir);

#endif
