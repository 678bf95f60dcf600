/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of files and of the objects inside them (probes/README.md): from the calls that set or ask them to the
 * model. What was not told is unknown; none are guessed.
 */
#ifndef IOPROBE_REPLAY_FACTS_H
#define IOPROBE_REPLAY_FACTS_H

#include "replay/state.h"

int static_facts_leave(struct replay *r, struct thread *thread, unsigned index);       /* at the return of a call that succeeded */
/* The call has made this handle. */
int static_facts_made(struct replay *r, struct thread *thread, const struct frame *f, struct object *object);
/* The files of all handles are known: completes model.facts. */
int static_facts_finish(struct replay *r);
void static_facts_free(struct replay *r);

#endif
