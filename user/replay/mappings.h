/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From an address in a process to a place in a file of code. Private to user/replay.
 */
#ifndef IOPROBE_REPLAY_MAPPINGS_H
#define IOPROBE_REPLAY_MAPPINGS_H

#include "replay/state.h"

/* Adds a MAPPING record; group and code_file are set here; strings are copied. */
int mapping_add(struct replay *r, struct process *process, const struct model_code_file *file, const struct model_mapping *mapping);
/* Returns the newest mapping of the process' program that covers the address, among the records read so far; NULL if none does. The
 * record of recently mapped code may still follow: it is written when the agent has read the process' maps. Valid until the next
 * mapping is added. */
const struct model_mapping *mapping_find(const struct replay *r, const struct process *process, uint64_t address);
int mappings_inherit(struct process *child, const struct process *parent);      /* at a fork */
void mappings_drop(struct process *process);                                    /* at an exec or the end */
void mappings_free(struct replay *r);

#endif
