/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * MPICH's handles are 32-bit numbers.
 */
#ifndef IOPROBE_REPLAY_MPI_MPICH_H
#define IOPROBE_REPLAY_MPI_MPICH_H

#include "replay/state.h"

bool mpich_type_bytes(int64_t datatype, int64_t *bytes);        /* false: a derived type, whose handle does not contain its size */
uint64_t mpich_status_bytes(uint64_t word);                     /* the first 64 bits of a status */

#endif
