/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sizes and names of variables, from what calls tell of them.
 */
#ifndef IOPROBE_REPLAY_SIZES_SHAPES_H
#define IOPROBE_REPLAY_SIZES_SHAPES_H

#include "replay/state.h"

int shape_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that worked */
/* Whether the count and the size of a datatype that it was given say nothing, and the variable's shape does. */
bool shape_decides(const struct replay *r, const struct frame *f, int64_t count, int64_t type_bytes);
/* Bytes that the operation moves; BYTES_UNKNOWN. */
uint64_t shape_bytes(const struct replay *r, const struct thread *thread, const struct frame *f);
bool shape_collective(const struct replay *r, const struct frame *f);          /* as nc_var_par_access has said */
uint32_t shape_variable(const struct replay *r, const struct frame *f);         /* as in model_event */
void shape_free(struct object *object);
void shapes_free(struct replay *r);
void shape_rank_from_below(struct replay *r, struct thread *thread, unsigned index, int rank);

#endif
