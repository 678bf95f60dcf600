/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A job's user: what is written for him is written with his rights, so that a link in his folders leads nobody further than
 * himself.
 */
#ifndef IOPROBE_OWNER_H
#define IOPROBE_OWNER_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct owner { uid_t uid; gid_t gid; char user[64]; };

/* From a job's "uid", "gid", "user"; the name is looked up if it is missing. */
void owner_of(struct owner *owner, const json_t *job);

/* The effective ids, for a moment; the other way round needs root as real user. Returns 0 or -errno. */
int owner_become(const struct owner *owner);
void owner_return(void);
/* For good: nothing leads back. Returns 0 or -errno. */
int owner_become_for_good(const struct owner *owner);

/* The folder of a job by its "output" pattern: %u user, %j job, %n node, %c cluster, %w working directory. A new one, of the
 * user alone (0700); a number is added to the name of one that exists. What stands before the first % must exist. Returns 0, or
 * -errno with one line in err. */
int owner_make_folder(const struct owner *owner, const json_t *job, char *path, size_t len, char *err, size_t err_len);

#endif
