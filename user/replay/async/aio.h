/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Libraries that use requests on descriptors.
 */
#ifndef IOPROBE_REPLAY_ASYNC_AIO_H
#define IOPROBE_REPLAY_ASYNC_AIO_H

#include "replay/state.h"

/* A SUBMITTED record: operations that the thread's call begins. Returns 0 or -ENOMEM. */
int aio_submitted(struct replay *r, struct thread *thread, const struct iop_rec_requests *rec);
int aio_enter(struct replay *r, struct thread *thread, unsigned index);
/* Writes the begin of the call's operation, unless the call failed. Returns 0 or -errno. */
int aio_begin(struct replay *r, struct thread *thread, unsigned index);
int aio_leave(struct replay *r, struct thread *thread, unsigned index);

#endif
