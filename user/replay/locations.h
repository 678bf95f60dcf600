/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Locations: where the events of a thread stand. One ends when nothing more can come for it, so that sinks need memory for the
 * threads that live, not for all that ever lived: a thread's with the thread, unless operations that it began are under way; a
 * leader's with its process, as an exec makes another thread the leader.
 */
#ifndef IOPROBE_REPLAY_LOCATIONS_H
#define IOPROBE_REPLAY_LOCATIONS_H

#include "replay/state.h"

/* thread: the one of that number, NULL if it is not known. REF_NONE without memory. */
uint32_t location_new(struct replay *r, struct process *process, uint32_t tid, const struct thread *thread);
/* An operation that may end after the thread that began it, on that one's location. location may be REF_NONE in the next three. */
void location_hold(struct replay *r, uint32_t location);
int location_release(struct replay *r, uint32_t location);
int location_thread_gone(struct replay *r, uint32_t location, uint64_t last_ns);        /* last_ns: of its last event */
uint64_t *location_last_ns(struct replay *r, struct process *process, uint32_t location);       /* of one whose thread is gone */

#endif
