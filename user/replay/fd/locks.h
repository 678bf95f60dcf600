/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Locks on files: flock(2) and the record locks of fcntl(2) (lockf(3) calls that). An unlock does not say what kind of lock it
 * gives back, so what a process was seen to lock is kept.
 */
#ifndef IOPROBE_REPLAY_FD_LOCKS_H
#define IOPROBE_REPLAY_FD_LOCKS_H

#include "replay/state.h"

int op_flock(struct replay *r, struct thread *thread, const struct frame *f);           /* flock(2) */
bool lock_command(int64_t cmd);                                                         /* of fcntl(2) */
int op_record_lock(struct replay *r, struct thread *thread, const struct frame *f);     /* fcntl(2) with such a command */
void locks_closed(struct process *process, uint32_t file);      /* any close of a file gives back the process' record locks on it */
void locks_free(struct process *process);

#endif
