/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Several processes of one launch (mpirun, srun) that share the work of a merge by files in a folder beside the output, which all
 * of them see. So no MPI library is needed, and a merge alone is a team of one. Names of files in the folder are the callers'
 * affair.
 */
#ifndef IOPROBE_MERGE_TEAM_H
#define IOPROBE_MERGE_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct team;

/* Finds out from the launcher's environment who takes part, and makes (rank 0) or awaits (others) the folder OUT.partial-*. What
 * killed merges left of theirs is removed. From here on SIGINT, SIGTERM and SIGHUP are noted, not deadly. 0 or -errno with a
 * line in err. */
int team_create(struct team **team, const char *out, char *err, size_t err_len);
/* Rank 0 removes the folder; others wait a moment until it is gone. NULL is fine. */
void team_destroy(struct team *team);

unsigned team_rank(const struct team *team);
unsigned team_size(const struct team *team);
const char *team_dir(const struct team *team);
bool team_interrupted(void);

/* A file is published as a whole: opened under another name, then closed and renamed. 0 or -errno. */
FILE *team_open(struct team *team, const char *name);
int team_publish(struct team *team, FILE *file, const char *name);
/* Waits until name is there and opens it for reading. NULL with a line in err: its publisher failed, does not live any more, or
 * we were interrupted; err is empty where another process tells already. */
FILE *team_await(struct team *team, unsigned publisher, const char *name, char *err, size_t err_len);
/* Tells the others that this process has failed, and why. */
void team_fail(struct team *team, const char *why);

#endif
