/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * HDF5's dataspaces and types.
 */
#ifndef IOPROBE_REPLAY_SIZES_SPACES_H
#define IOPROBE_REPLAY_SIZES_SPACES_H

#include "replay/state.h"

int space_constants(struct replay *r, struct process *process, const struct iop_rec_constants *rec);
void space_forget(struct process *process, int64_t id);                         /* a handle that was closed */
int space_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that worked */
uint64_t space_elements(const struct replay *r, const struct thread *thread, const struct frame *f);    /* BYTES_UNKNOWN */
bool space_collective(const struct replay *r, const struct thread *thread, const struct frame *f);     /* as H5Pset_dxpl_mpio has said */

#endif
