/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes events of threads to the sinks with timestamps that never decrease per location; sets the error that ends a replay.
 */
#ifndef IOPROBE_REPLAY_EVENTS_H
#define IOPROBE_REPLAY_EVENTS_H

#include "replay/state.h"

/* All zero, to begin an event with where there is one for each call: gcc clears that many bytes by one slow instruction (rep stos),
 * but copies them by a few fast ones, as long as it does not see their values. */
extern const struct model_event event_blank;

int replay_fail(struct replay *r, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int call_event(struct replay *r, struct thread *thread, struct model_event *event, uint64_t time_ns);

#endif
