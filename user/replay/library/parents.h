/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parents of handles: the handle on top of the thread's stack, if it is on the same file. An outer call whose handle is still in
 * the making gets its ref when the first handle below it needs one, outermost first, so that a parent's ref is the smaller one.
 */
#ifndef IOPROBE_REPLAY_LIBRARY_PARENTS_H
#define IOPROBE_REPLAY_LIBRARY_PARENTS_H

#include "replay/state.h"

uint32_t parent_of(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
uint32_t frame_handle(struct replay *r, struct thread *thread, unsigned index);         /* of the handle in the making */
int object_place(struct replay *r, struct thread *thread, unsigned index, struct object *object);       /* one that is new to us */
void frame_resolve(struct replay *r, struct thread *thread, unsigned index);            /* its file, if not known yet */
void file_was_made(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
void file_was_used(struct replay *r, struct thread *thread, unsigned index, uint32_t file);

#endif
