/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sizes and names of variables, from the arguments of recorded calls.
 */
#ifndef IOPROBE_REPLAY_SIZES_SHAPES_H
#define IOPROBE_REPLAY_SIZES_SHAPES_H

#include "replay/state.h"

/* What the header of the file of a call that opens a handle defines. */
int shape_learn_header(struct replay *r, const struct frame *f, struct object *object);
void shape_synced(struct object *object);       /* its number of records may have changed */
int shape_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that succeeded */
/* Returns whether the size of the operation follows from the variable's shape rather than from its count and datatype. */
bool shape_decides(const struct replay *r, const struct frame *f, int64_t count, int64_t type_bytes);
/* Returns the bytes that the operation moves, or BYTES_UNKNOWN. */
uint64_t shape_bytes(const struct replay *r, const struct thread *thread, const struct frame *f);
bool shape_collective(const struct replay *r, const struct frame *f);          /* as set by nc_var_par_access */
int shape_rank(const struct replay *r, const struct frame *f);                  /* dimensions of the call's variable, -1 unknown */
uint32_t shape_variable(const struct replay *r, const struct frame *f);         /* as in model_event */
void shape_free(struct object *object);
/* The call at this index, on a dataset, teaches the call around it, on a variable: its number of dimensions (rank, -1: unknown) and
 * its bytes. */
void shape_from_below(struct replay *r, struct thread *thread, unsigned index, int rank);
/* Bytes that calls on the dataset have asked for, of a call that moves values of the variable's own type; BYTES_UNKNOWN. */
uint64_t shape_bytes_from_below(const struct replay *r, const struct frame *f);

#endif
