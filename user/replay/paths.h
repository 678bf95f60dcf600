/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Paths as text.
 */
#ifndef IOPROBE_REPLAY_PATHS_H
#define IOPROBE_REPLAY_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Puts the absolute form of path into *buf (grown as needed): relative to base; "." and ".." are resolved lexically. */
int path_absolute(char **buf, size_t *size, const char *base, const char *path, size_t len);
char *path_from_names(const char *names, size_t len, bool truncated);   /* malloc'ed; "b\0a\0" is /a/b */
const char *path_last(const char *path);

#endif
