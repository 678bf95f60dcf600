/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Classic system-call tracepoints by perf event, one pair per system call of the tables.
 */
#ifndef IOPROBE_TRACEPOINTS_H
#define IOPROBE_TRACEPOINTS_H

#include <stddef.h>

#include "table/table.h"

struct tracepoints;

/* Attaches the programs to sys_enter_X and sys_exit_X of every system call row that this machine has; a row whose tracepoint does not exist
 * is told to missing. tracefs need not be mounted: a private instance is opened (fsopen(2), Linux 5.2). Returns 0 or
 * -errno with one line in err. */
int tracepoints_attach_syscalls(struct tracepoints **out, const struct table_set *set, int enter_fd, int exit_fd,
				void (*missing)(void *arg, const char *function, const char *reason), void *arg, char *err, size_t err_len);
void tracepoints_detach(struct tracepoints *tracepoints);       /* NULL is fine */

/* A descriptor of the tracefs root, or -errno. */
int tracefs_open(void);

#endif
