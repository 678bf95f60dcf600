/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Whether a call failed, and its error: from its result, or, if the result only shows that it failed (ISO C streams), from the
 * system calls inside it.
 */
#ifndef IOPROBE_REPLAY_OUTCOME_H
#define IOPROBE_REPLAY_OUTCOME_H

#include "replay/state.h"

void outcome_set(const struct replay *r, struct frame *f, const struct iop_rec_call *rec);
void outcome_hand_up(const struct replay *r, struct frame *outer, const struct frame *f);       /* called when f is popped */
/* of a failed call: errno or the library's code, 0 if unknown */
int32_t outcome_error(const struct replay *r, const struct frame *f);

/* whether a filter may have excluded system calls inside a call */
bool outcome_may_miss_system_calls(const struct replay *r);

#endif
