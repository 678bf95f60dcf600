/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of each job's recording, in one file per job, so that it survives the death of the service or of a recorder. The
 * service writes it before the recorder gets the job and after the recorder's end, the recorder in between.
 *
 * A job is a JSON object: "id" (of the recording), "job" (the batch system's id), "by" (uid of the client that started it), "uid",
 * "gid", "user", "account", "comment", "cluster", "node", "work_dir", "entries" (of its programs' environment), "pids" (instead of
 * these), "output" (pattern, then directory), "site_len" and "made_len" (of it, owner.h), "log", "idle_limit" and "archive_limit"
 * (seconds), "phase", "message", "pid" and "start_ticks" (of the recorder), "recovered"; "times" (an object: when each phase began,
 * in seconds of CLOCK_REALTIME), "records", "lost" and "record_bytes" (when the recording has ended);
 * "stream_intervals", "stream_lag_ns" and "stream_missed" (struct live_report, when its archive was made).
 */
#ifndef IOPROBE_STATE_H
#define IOPROBE_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DEFAULT_STATE_DIR "/var/lib/ioprobe"
#define STATE_ID_ROOM 64        /* of an id with its NUL */
#define STATE_NAME_ROOM 256     /* of a user's, node's or cluster's name with its NUL */

/* Phases: starting, recording, archiving; then done, empty (no process was observed, there is no archive), failed. */
bool state_is_final(const json_t *job);

/* An id is used in file names. */
bool state_valid_id(const char *id);
/* The same characters, up to the maximum length of a file name: for users, nodes, clusters. */
bool state_valid_name(const char *name);
void state_path(char *path, size_t len, const char *state_dir, const char *id);
/* Replaces the file atomically, also across a loss of power: file and directory are synced. Returns 0 or -errno. */
int state_save(const char *path, const json_t *job);
json_t *state_load(const char *path);                   /* NULL if there is none, or it is damaged */

/* Sets phase and message, and saves. A failure is reported on stderr. */
void state_set(const char *path, json_t *job, const char *phase, const char *message);
/* Sets the phase "starting" and saves without waiting for the disk: a prolog waits for this, and nothing has been recorded yet that
 * a loss of power could make unknown. */
void state_begin(const char *path, json_t *job);

void state_set_process(json_t *job, pid_t pid);
/* Returns the recorder's pid if that very process still lives, with a pidfd that the caller owns; else 0. The descriptor is opened
 * before the check, so it cannot refer to a later process with the same pid. */
pid_t state_open_process(const json_t *job, int *pid_fd);

#endif
