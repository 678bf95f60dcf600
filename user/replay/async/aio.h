/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Libraries that use requests on descriptors.
 */
#ifndef IOPROBE_REPLAY_ASYNC_AIO_H
#define IOPROBE_REPLAY_ASYNC_AIO_H

#include "replay/state.h"

int aio_enter(struct replay *r, struct thread *thread, unsigned index);
int aio_leave(struct replay *r, struct thread *thread, unsigned index);

#endif
