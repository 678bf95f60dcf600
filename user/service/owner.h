/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A job's user: what is written for him is written with his rights, so that a link in his directories leads nobody further than
 * himself.
 */
#ifndef IOPROBE_OWNER_H
#define IOPROBE_OWNER_H

#include <jansson.h>
#include <stddef.h>

#include "privilege/output.h"

/* From a job's "uid" and "gid", with the groups that the system gives that user. Returns 0 or -ENOMEM. */
int owner_of(struct identity *owner, const json_t *job);

/* Lengths of parts of the output's path. */
struct owner_place {
	size_t site;            /* in front of the first name that is a user's or a job's: the site's own directories */
	size_t made;            /* in front of the first directory that did not exist before */
};

/* Makes the directory of a job by its "output" pattern: %u user, %j the recording's id, %n node, %c cluster, %w working directory. It
 * is a new one, of the user alone (0700); a number is added to a name that is taken. What is in front of the first % must exist.
 * Directories up to the first name with %u or %j are the site's (root's, 0755, shared by all users), the others the user's; one that
 * belongs to another user is refused. Returns 0, or -errno with one line in err; then nothing that was made is left. */
int owner_make_directory(const struct identity *owner, const json_t *job, struct output *out, struct owner_place *place, char *err,
			 size_t err_len);

/* Removes the directory, and those above it that were made for it, as far as they are empty. */
void owner_remove_empty(const struct identity *owner, const char *path, const struct owner_place *place);

#endif
