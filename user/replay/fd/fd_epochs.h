/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls on a descriptor that another thread closes or replaces meanwhile.
 */
#ifndef IOPROBE_REPLAY_FD_FD_EPOCHS_H
#define IOPROBE_REPLAY_FD_FD_EPOCHS_H

#include "replay/state.h"

struct fd_use { int64_t fd; struct incarnation *inc; uint32_t handle; };
/* The descriptor of an argument; inc is NULL if there is none. A call that worked proves that it was open, described or not. */
int fd_use(struct replay *r, struct thread *thread, const struct frame *f, enum table_role role, struct fd_use *use);
int fd_epoch_record(struct replay *r, struct thread *thread, const struct iop_rec_fd_epoch *rec);
/* A call ends this open file. Returns whether calls are running on it still: then it is destroyed after them. */
bool fd_epoch_end(struct thread *thread, const struct frame *f, int64_t fd, struct incarnation *inc);
/* The open file that a call has put in its place, if other calls use it already; else NULL. *overlapped: calls may have begun on it. */
struct incarnation *fd_epoch_made(struct thread *thread, const struct frame *f, int64_t fd, bool *overlapped);
void fd_epoch_begun(struct thread *thread, const struct frame *f, int64_t fd, struct incarnation *inc);        /* a new one */
int fd_epoch_leave(struct replay *r, struct thread *thread, const struct frame *f);    /* the call has returned */
int fd_inherit(struct fd_table *child, const struct fd_table *parent);  /* what is open there */
int fd_exec(struct replay *r, struct thread *thread, uint64_t time_ns);

#endif
