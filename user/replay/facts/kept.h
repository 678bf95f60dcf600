/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The static facts of the model.
 */
#ifndef IOPROBE_REPLAY_FACTS_KEPT_H
#define IOPROBE_REPLAY_FACTS_KEPT_H

#include "replay/state.h"

/* Adds a value to a fact of a handle's file, or of an object in it, unless it has it already. file: REF_NONE as long as it
 * is unknown. grows: the value is a list that is told one by one; it replaces its beginning ("shuffle" by "shuffle, deflate"). */
int fact_keep(struct replay *r, uint32_t handle, uint32_t file, uint32_t paradigm, const char *object, const char *name,
	      const char *value, bool grows);

#endif
