/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Handles of libraries: per process, from the program's value to the model's handle. Handles that were created before the recording
 * are defined as pre-created at their first use.
 */
#ifndef IOPROBE_REPLAY_LIBRARY_HANDLES_H
#define IOPROBE_REPLAY_LIBRARY_HANDLES_H

#include "replay/state.h"

uint32_t handle_new(struct replay *r, const struct model_handle *def);
struct object *object_find(struct process *process, uint32_t layer, uint64_t value);
struct object *object_of_ref(struct process *process, uint32_t ref);    /* NULL if the process has no such handle */
struct object *object_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value);
bool object_rename(struct process *process, struct object *object, uint64_t value);     /* false: no memory, it is released */
void object_forget(struct process *process, struct object *object);
void object_release(struct object *object);
uint32_t object_handle(struct replay *r, struct process *process, struct object *object);
void object_on_descriptor(struct replay *r, struct process *process, int64_t fd, uint32_t file);        /* for a standard stream */
void handles_finish(struct replay *r);
int object_inherit(struct replay *r, struct process *child, const struct process *parent);
void object_free_all(struct process *process);
bool layer_parallel(const struct replay *r, const struct process *process, uint32_t layer);

#endif
