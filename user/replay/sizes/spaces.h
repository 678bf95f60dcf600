/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * HDF5's dataspaces and types.
 */
#ifndef IOPROBE_REPLAY_SIZES_SPACES_H
#define IOPROBE_REPLAY_SIZES_SPACES_H

#include "replay/state.h"

int space_constants(struct replay *r, struct process *process, const struct iop_rec_constants *rec);
int space_learn(struct replay *r, struct thread *thread, struct frame *f);      /* at the return of a call that succeeded */

#endif
