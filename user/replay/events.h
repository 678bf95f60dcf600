/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes events of threads to the sinks with timestamps that never decrease per location; sets the error that ends a replay.
 */
#ifndef IOPROBE_REPLAY_EVENTS_H
#define IOPROBE_REPLAY_EVENTS_H

#include "replay/state.h"

int replay_fail(struct replay *r, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int call_event(struct replay *r, struct thread *thread, struct model_event *event, uint64_t time_ns);

#endif
