/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Objects of a file by name.
 */
#ifndef IOPROBE_REPLAY_SIZES_KNOWN_H
#define IOPROBE_REPLAY_SIZES_KNOWN_H

#include "replay/state.h"

/* for an object that was created below another */
int known_place(struct replay *r, struct frame *f, struct object *object, struct object *parent);
int known_opened(struct replay *r, struct thread *thread, const struct frame *f, const struct object *object);
/* names may now refer to other objects in the file of this one */
void known_renamed(struct process *process, const struct object *object);
int known_iterated(struct replay *r, struct thread *thread, const struct frame *f);
int known_handed_over(struct thread *thread, struct object *object);   /* an id whose creation was not recorded */
void known_iterated_free(struct process *process);

#endif
