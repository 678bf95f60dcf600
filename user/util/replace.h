/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files of ioprobe itself whose readers see the old or the new text, never a part of one (a user's: cmd/replace_file.h).
 */
#ifndef IOPROBE_REPLACE_H
#define IOPROBE_REPLACE_H

#include <stddef.h>

/* Replaces the file of that name in a directory (AT_FDCWD: name is a path), mode 0644 less the umask, by way of NAME.next, which
 * may not be a link. Returns 0, or -errno: the old file is still there then. */
int file_replace(int dir, const char *name, const char *text, size_t len);

#endif
