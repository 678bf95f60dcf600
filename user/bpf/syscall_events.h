/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Perf events on the tracepoints of system calls.
 */
#ifndef IOPROBE_SYSCALL_EVENTS_H
#define IOPROBE_SYSCALL_EVENTS_H

#include <stdbool.h>

/* Checks whether their numbers can be read. Returns 0 or -errno. */
int syscall_events_find(void);

/* Attaches the program to the exit, or the entry, of every system call. Returns the link's descriptor or -errno. */
int syscall_events_attach(int program_fd, bool exit);

#endif
