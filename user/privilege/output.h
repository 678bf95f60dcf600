/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The directory of a recording, held by descriptors: its path is resolved once, with its owner's rights, and everything in it is
 * created relative to the descriptor, so that replaced directories and planted links have no effect.
 */
#ifndef IOPROBE_OUTPUT_H
#define IOPROBE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "privilege/identity.h"

struct spool_writer;

#define OUTPUT_SPOOL "spool"

struct output {
	int dir;                /* the directory, O_RDONLY */
	int above;              /* its parent if the directory was created here, else -1 */
	char name[256];         /* relative to above */
	char path[4096];        /* as given by the user, for messages */
	const struct identity *owner;   /* not copied */
};

/* Creates the directory as its owner, or uses an existing empty one that belongs to the owner. Returns 0, or -errno with one line
 * in err: then nothing is open. */
int output_create(struct output *out, const struct identity *owner, const char *path, char *err, size_t err_len);

/* Creates it in above with this mode. more: if the owner may not write to above, root creates it, owned by the owner from the start
 * (in a site's directory). Returns 0 or -errno (-EEXIST if the name is taken). */
int output_create_at(struct output *out, const struct identity *owner, int above, const char *name, mode_t mode, bool more);

/* Creates a parent directory in the same way. Returns 0 or -errno. */
int output_make_directory(const struct identity *owner, int above, const char *name, mode_t mode, bool more);

/* Opens the directory of an earlier recording, which must belong to owner. Returns 0, or -errno with one line in err. */
int output_open(struct output *out, const struct identity *owner, const char *path, char *err, size_t err_len);

/* The same for any owner: for root *owner becomes the directory's owner; for others the caller, to whom it must belong. */
int output_open_as_owner(struct output *out, struct identity *owner, const char *path, char *err, size_t err_len);

/* Creates the spool in the directory. Returns 0, or -errno with one line in err. */
int output_create_spool(const struct output *out, struct spool_writer **spool, char *err, size_t err_len);

/* Nothing was recorded: removes the spool, and the directory if it was created here. */
void output_discard(struct output *out);

void output_close(struct output *out);

/* The default name: ioprobe-NAME-YYYYMMDD-HHMMSS. */
void output_default_name(char *dir, size_t len, const char *name);

#endif
