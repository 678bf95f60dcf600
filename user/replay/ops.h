/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of calls, at entry and at return.
 */
#ifndef IOPROBE_REPLAY_OPS_H
#define IOPROBE_REPLAY_OPS_H

#include "replay/state.h"

int op_enter(struct replay *r, struct thread *thread, unsigned index);
int op_leave(struct replay *r, struct thread *thread, unsigned index);

#endif
