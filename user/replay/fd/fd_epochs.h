/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls on a descriptor that another thread closes or replaces during the call.
 */
#ifndef IOPROBE_REPLAY_FD_FD_EPOCHS_H
#define IOPROBE_REPLAY_FD_FD_EPOCHS_H

#include "replay/state.h"

struct fd_use { int64_t fd; struct open_file *inc; uint32_t handle; };
/* Finds the open file behind a descriptor argument; inc is NULL if there is none. A call that succeeded proves that the descriptor
 * was open, described or not. */
int fd_use(struct replay *r, struct thread *thread, const struct frame *f, enum table_role role, struct fd_use *use);
int fd_epoch_record(struct replay *r, struct thread *thread, const struct iop_rec_fd_epoch *rec);
/* Marks this open file as closed by the call. Returns whether other calls are still running on it: then its handle is destroyed
 * after them. */
bool fd_epoch_end(struct thread *thread, const struct frame *f, int64_t fd, struct open_file *inc);
/* Returns the open file that a call has put in its place, if other calls already use it; else NULL. *overlapped: calls may have
 * begun on it. */
struct open_file *fd_epoch_made(struct thread *thread, const struct frame *f, int64_t fd, bool *overlapped);
void fd_epoch_begun(struct thread *thread, const struct frame *f, int64_t fd, struct open_file *inc);        /* a new open file */
int fd_epoch_leave(struct replay *r, struct thread *thread, const struct frame *f);    /* the call has returned */
int fd_inherit(struct fd_table *child, const struct fd_table *parent);  /* copies what is open */
int fd_exec(struct replay *r, struct thread *thread, uint64_t time_ns);

#endif
