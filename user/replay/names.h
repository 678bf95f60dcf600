/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Strings that events refer to by number, each once: names of variables, and the paths of calls on names.
 */
#ifndef IOPROBE_REPLAY_NAMES_H
#define IOPROBE_REPLAY_NAMES_H

#include "replay/state.h"

/* 1 + its index in model.names; 0 without memory. */
uint32_t name_number(struct replay *r, const char *text, size_t len);
void names_free(struct replay *r);

#endif
