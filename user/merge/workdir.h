/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The directory OUT.partial beside the output, in which a merge writes its archive before that is renamed to OUT. A file in it is
 * locked as long as the merge lives: a directory without a lock was left by a merge that was killed.
 */
#ifndef IOPROBE_MERGE_WORKDIR_H
#define IOPROBE_MERGE_WORKDIR_H

#include <stdbool.h>
#include <stddef.h>

struct workdir { char *path; int lock; };

/* Makes the directory, in place of one that a killed merge left; fails if another merge writes there. From here on SIGINT, SIGTERM
 * and SIGHUP are noted, see workdir_interrupted. Returns 0, or -errno with one line in err; call workdir_destroy in any case. */
int workdir_create(struct workdir *workdir, const char *out, char *err, size_t err_len);

/* Removes the directory with all that is in it. */
void workdir_destroy(struct workdir *workdir);

/* Whether one of the signals has arrived. */
bool workdir_interrupted(void);

#endif
