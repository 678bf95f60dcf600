/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parents of handles: the innermost handle on the thread's stack of calls, if it is on the same file. An outer call that is still
 * creating its handle gets the ref when the first handle below it needs one, outermost first, so that a parent's ref is smaller
 * than its children's.
 */
#ifndef IOPROBE_REPLAY_LIBRARY_PARENTS_H
#define IOPROBE_REPLAY_LIBRARY_PARENTS_H

#include "replay/state.h"

uint32_t parent_of(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
uint32_t frame_handle(struct replay *r, struct thread *thread, unsigned index);         /* for the handle that the call creates */
/* for a handle whose creation was not recorded */
int object_place(struct replay *r, struct thread *thread, unsigned index, struct object *object);
void frame_resolve(struct replay *r, struct thread *thread, unsigned index);            /* determines its file, if not yet known */
void file_was_made(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path);
void file_was_used(struct replay *r, struct thread *thread, unsigned index, uint32_t file);

#endif
