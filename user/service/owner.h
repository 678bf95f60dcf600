/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Output on behalf of a job's user: written with that user's rights, so that a link in the user's directories leads only to files
 * that the user can access anyway.
 */
#ifndef IOPROBE_OWNER_H
#define IOPROBE_OWNER_H

#include <jansson.h>
#include <stddef.h>

#include "privilege/output.h"

/* Fills owner from a job's "uid" and "gid", with the groups that the system has for that user. Returns 0 or -ENOMEM. */
int owner_of(struct identity *owner, const json_t *job);

/* Lengths of prefixes of the output's path. */
struct owner_place {
	size_t site;            /* up to the first component that depends on the user or job: the site's own directories */
	size_t made;            /* up to the first directory that did not exist before */
};

/* Creates the directory of a job from its "output" pattern: %u user, %j the recording's id, %n node, %c cluster, %w working
 * directory. It is always new and accessible to the user only (0700); if the name is taken a number is added. The part before the
 * first % must exist. Directories up to the first component with %u or %j belong to the site (root's, 0755, shared by all users),
 * the others to the user; one that belongs to another user is refused. Returns 0, or -errno with one line in err; then everything
 * that was created is removed. */
int owner_make_directory(const struct identity *owner, const json_t *job, struct output *out, struct owner_place *place, char *err,
			 size_t err_len);

/* Removes the directory, and those above it that were created for it, if they are empty. */
void owner_remove_empty(const struct identity *owner, const char *path, const struct owner_place *place);

#endif
