/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Size of an element in memory, and of all elements in the file; BYTES_UNKNOWN.
 */
#ifndef IOPROBE_REPLAY_SIZES_TYPES_H
#define IOPROBE_REPLAY_SIZES_TYPES_H

#include "replay/state.h"

uint64_t space_type_bytes(const struct replay *r, const struct thread *thread, const struct frame *f, int64_t type);
uint64_t space_file_bytes(const struct replay *r, const struct thread *thread, const struct frame *f);

#endif
