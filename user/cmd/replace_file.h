/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Replaces a user's file as a whole: readers see the old contents or the new ones, and an interrupted writer leaves the old ones.
 */
#ifndef IOPROBE_CMD_REPLACE_FILE_H
#define IOPROBE_CMD_REPLACE_FILE_H

#include <stddef.h>

#include "privilege/identity.h"

/* Whether replace_file could write name with the rights of who: creates and removes a temporary file beside it. Returns 0 or
 * -errno. */
int replace_file_check(const char *name, const struct identity *who);

/* Writes a temporary file beside name and renames it. A link is followed; what is no regular file (a terminal, a pipe) is written
 * in place. The mode of an old file is kept. Returns 0 or -errno; then an old file is as it was. */
int replace_file(const char *name, const struct identity *who, const char *text, size_t len);

#endif
