/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Objects of a file by name.
 */
#ifndef IOPROBE_REPLAY_SIZES_KNOWN_H
#define IOPROBE_REPLAY_SIZES_KNOWN_H

#include "replay/state.h"

int known_place(struct replay *r, struct frame *f, struct object *object, struct object *parent);       /* one that was made below another */
int known_opened(struct replay *r, struct thread *thread, const struct frame *f, const struct object *object);
void known_renamed(struct process *process, const struct object *object);       /* names lead to other objects in the file of this one */
void known_forget(struct object *file);
int known_iterated(struct replay *r, struct process *process, const struct frame *f);
int known_handed_over(struct process *process, struct object *object);         /* an id whose creation was not recorded */
void known_iterated_free(struct process *process);
int space_rank(const struct replay *r, const struct thread *thread, const struct frame *f);             /* of the dataset, -1 unknown */
void space_free(struct process *process);

#endif
