/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The mount namespaces of the recorded processes: the mount table of each is written to the spool once, and again when poll(2)
 * reports that it changed (proc_pid_mounts(5)).
 */
#ifndef IOPROBE_MOUNT_WATCHES_H
#define IOPROBE_MOUNT_WATCHES_H

#include <sys/types.h>

#include "spool/spool.h"

struct mount_watch;     /* a list; NULL if empty */

/* Writes the mount table of the process' namespace, if it is new, and watches it from then on. Returns 0, also for a process that
 * has ended, or -ENOMEM: the table was written, but changes will not be seen. */
int mount_watches_add(struct mount_watch **watches, struct spool_writer *spool, pid_t pid);
/* Writes the tables that changed. find: returns a process of the namespace (named as by readlink), 0 if none is known. */
void mount_watches_check(const struct mount_watch *watches, struct spool_writer *spool,
			 pid_t (*find)(void *arg, const char *namespace), void *arg);
void mount_watches_destroy(struct mount_watch **watches);

#endif
