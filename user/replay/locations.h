/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Locations, OTF2's streams of events, one per thread. A location is closed as soon as no more events can come for it, so that the
 * sinks need memory for the living threads only: with its thread, unless operations that it began are pending; a leader's with its
 * process, because an exec makes another thread the leader.
 */
#ifndef IOPROBE_REPLAY_LOCATIONS_H
#define IOPROBE_REPLAY_LOCATIONS_H

#include "replay/state.h"

/* thread: the thread with that tid, NULL if unknown. Returns REF_NONE without memory. */
uint32_t location_new(struct replay *r, struct process *process, uint32_t tid, const struct thread *thread);
/* An operation on this location that may complete after the thread has ended. location may be REF_NONE in the next three
 * functions. */
void location_hold(struct replay *r, uint32_t location);
int location_release(struct replay *r, uint32_t location);
int location_thread_gone(struct replay *r, uint32_t location, uint64_t last_ns);        /* last_ns: of its last event */
uint64_t *location_last_ns(struct replay *r, struct process *process, uint32_t location); /* for a location whose thread is gone */

#endif
