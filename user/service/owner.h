/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A job's user: what is written for him is written with his rights, so that a link in his folders leads nobody further than
 * himself.
 */
#ifndef IOPROBE_OWNER_H
#define IOPROBE_OWNER_H

#include <jansson.h>
#include <stddef.h>

#include "privilege/output.h"

/* From a job's "uid" and "gid", with the groups that the system gives that user. Returns 0 or -ENOMEM. */
int owner_of(struct identity *owner, const json_t *job);

/* The folder of a job by its "output" pattern: %u user, %j job, %n node, %c cluster, %w working directory. A new one, of the
 * user alone (0700); a number is added to the name of one that exists. What stands before the first % must exist. Returns 0, or
 * -errno with one line in err. */
int owner_make_folder(const struct identity *owner, const json_t *job, struct output *out, char *err, size_t err_len);

#endif
