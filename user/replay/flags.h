/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Open modes and flags of the layers to OTF2's enums.
 */
#ifndef IOPROBE_REPLAY_FLAGS_H
#define IOPROBE_REPLAY_FLAGS_H

#include "replay/state.h"

uint8_t flags_posix_mode(int64_t flags);
uint32_t flags_posix_creation(int64_t flags);
uint32_t flags_posix_status(int64_t flags);
void flags_stream(struct str mode, uint8_t *access, uint32_t *creation, uint32_t *status);
void flags_layer(const struct table_layer *layer, int64_t flags, bool create, uint8_t *access, uint32_t *creation,
		 uint32_t *status);
bool flags_others_write(const struct table_layer *layer, int64_t flags); /* other processes may write the file at the same time */
uint8_t flags_whence(const struct table_layer *layer, int64_t whence);

#endif
