/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Events of operations on handles.
 */
#ifndef IOPROBE_REPLAY_OP_EVENTS_H
#define IOPROBE_REPLAY_OP_EVENTS_H

#include "replay/state.h"

int op_begin(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle, uint8_t mode);
int op_complete(struct replay *r, struct thread *thread, struct frame *f, uint32_t handle);
int op_create_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle, uint8_t mode,
		    uint32_t creation, uint32_t status);
int op_destroy_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle);
int op_delete(struct replay *r, struct thread *thread, struct frame *f);
int op_delete_event(struct replay *r, struct thread *thread, const struct frame *f, uint32_t file);
bool op_non_blocking(const struct replay *r, const struct frame *f);    /* its operation may complete after the call */
int op_seek(struct replay *r, struct thread *thread, const struct frame *f, uint32_t handle);
/* Puts the absolute path of the call's PATH argument into f->path; empty if it could not be read or there is none. */
int op_path(struct replay *r, struct thread *thread, struct frame *f);

#endif
