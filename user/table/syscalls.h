/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts names of system calls to this machine's numbers.
 */
#ifndef IOPROBE_TABLE_SYSCALLS_H
#define IOPROBE_TABLE_SYSCALLS_H

/* Returns the number of a system call on files, descriptors or paths; -1 if this machine has no such system call. */
int syscall_number(const char *name);

#endif
