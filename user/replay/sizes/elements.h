/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Elements that an operation of HDF5 moves.
 */
#ifndef IOPROBE_REPLAY_SIZES_ELEMENTS_H
#define IOPROBE_REPLAY_SIZES_ELEMENTS_H

#include "replay/state.h"

uint64_t space_elements(const struct replay *r, const struct thread *thread, const struct frame *f);    /* BYTES_UNKNOWN */
int space_rank(const struct replay *r, const struct thread *thread, const struct frame *f); /* of the dataset, -1 unknown */
bool space_collective(const struct replay *r, const struct thread *thread,
		      const struct frame *f); /* as set by H5Pset_dxpl_mpio */

#endif
