/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kernel's tracing file system: where it is mounted, else an instance outside the mount tree.
 */
#ifndef IOPROBE_TRACEFS_H
#define IOPROBE_TRACEFS_H

/* Returns a descriptor of its root directory or -errno. */
int tracefs_open(void);
/* Returns the positive number in this file below the directory, or -errno. */
int tracefs_read_number(int tracefs, const char *path);

#endif
