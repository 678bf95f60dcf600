/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The directory that a recording goes to, held by descriptors: its path is resolved once, with its owner's rights, and everything
 * in it is created below the descriptor. Whoever exchanges directories or plants links gains nothing.
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
	int above;              /* the one that it was made in, -1 if it was there before */
	char name[256];         /* in above */
	char path[4096];        /* as given, for messages */
	const struct identity *owner;   /* not copied */
};

/* Makes the directory as its owner, or takes an empty one that belongs to him. Returns 0, or -errno with one line in err:
 * then nothing is open. */
int output_create(struct output *out, const struct identity *owner, const char *path, char *err, size_t err_len);

/* Makes it in above with this mode. more: where the owner may not write above, root makes it for him nevertheless, his from its
 * first moment (a site's directory). Returns 0 or -errno (-EEXIST if the name is taken). */
int output_create_at(struct output *out, const struct identity *owner, int above, const char *name, mode_t mode, bool more);

/* Makes one directory on the way there, in the same manner. Returns 0 or -errno. */
int output_make_directory(const struct identity *owner, int above, const char *name, mode_t mode, bool more);

/* Opens the directory of an earlier recording, that must belong to owner. Returns 0, or -errno with one line in err. */
int output_open(struct output *out, const struct identity *owner, const char *path, char *err, size_t err_len);

/* The same for whoever owns it: for root *owner becomes its owner, for others the caller (then it must be his). */
int output_open_as_owner(struct output *out, struct identity *owner, const char *path, char *err, size_t err_len);

/* Creates the spool in it. Returns 0, or -errno with one line in err. */
int output_create_spool(const struct output *out, struct spool_writer **spool, char *err, size_t err_len);

/* Nothing was recorded: removes the spool, and the directory if it was made here. */
void output_discard(struct output *out);

void output_close(struct output *out);

/* The default name: ioprobe-NAME-YYYYMMDD-HHMMSS. */
void output_default_name(char *dir, size_t len, const char *name);

#endif
