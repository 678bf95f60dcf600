/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Libaio and io_uring.
 */
#ifndef IOPROBE_REPLAY_ASYNC_ASYNC_H
#define IOPROBE_REPLAY_ASYNC_ASYNC_H

#include "replay/state.h"

int async_record(struct replay *r, struct thread *thread, const struct iop_rec_async *rec);
/* thread NULL: the submitter's */
int async_end_record(struct replay *r, struct thread *thread, const struct iop_rec_async_end *rec);
/* at the entry of io_submit: drops operations of an earlier one whose return was lost */
void async_forget_submitted(struct replay *r, struct thread *thread);
int async_submitted(struct replay *r, struct thread *thread, const struct frame *f);    /* io_submit returned, or was left */
int async_file(struct replay *r, struct process *process, const struct iop_rec_fd *rec);
int async_finish(struct replay *r);
void async_free(struct replay *r);

#endif
