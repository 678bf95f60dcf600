/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's transitions of a waiting thread's entry: see bpf/DESIGN.md, "Waiting for the agent".
 */
#ifndef IOPROBE_HOLD_ENTRY_H
#define IOPROBE_HOLD_ENTRY_H

#include <ioprobe/request.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns false if the thread is not in this state of this generation: it no longer waits. */
static inline bool hold_entry_change(struct iop_hold *holds, const struct iop_hold_id *id, enum iop_hold_state from,
				     enum iop_hold_state to)
{
	uint64_t generation = id->word & ~(uint64_t)IOP_HOLD_STATE, expected = generation | from;

	return __atomic_compare_exchange_n(&holds[id->slot % IOP_MAX_HOLDS].word, &expected, generation | to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif
