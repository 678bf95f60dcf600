/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * File locks: flock(2) and the record locks of fcntl(2) (used by lockf(3)). An unlock does not contain the kind of the lock that it
 * releases, so the locks that a process acquired are kept here.
 */
#ifndef IOPROBE_REPLAY_FD_LOCKS_H
#define IOPROBE_REPLAY_FD_LOCKS_H

#include "replay/state.h"

int op_flock(struct replay *r, struct thread *thread, const struct frame *f);           /* flock(2) */
bool lock_command(int64_t cmd); /* whether an fcntl(2) command is a lock command */
int op_record_lock(struct replay *r, struct thread *thread, const struct frame *f);     /* fcntl(2) with such a command */
/* closing any descriptor of a file releases the process' record locks on it */
void locks_closed(struct process *process, uint32_t file);
void locks_free(struct process *process);

#endif
