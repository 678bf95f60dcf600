/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Drains the rings in rounds: a round reads all records up to the moment it began, from every ring.
 */
#ifndef IOPROBE_RINGS_H
#define IOPROBE_RINGS_H

#include "bpf/bpf_side.h"

struct rings;

/* record is called for each record, which is valid during the call only. */
int rings_create(struct rings **out, const struct bpf_side *kernel, void (*record)(void *arg, const struct iop_rec *rec),
		 void *arg);
void rings_destroy(struct rings *rings);        /* NULL is fine */
int rings_poll_fd(const struct rings *rings);   /* readable when a ring wants to be drained */
/* Returns the round's time (CLOCK_MONOTONIC): every record sent before it has been delivered. With slice_ns the rings are drained
 * in turns of that length, so that the order of records from several rings is exact to within it; 0: one ring after the other. */
uint64_t rings_drain(struct rings *rings, uint64_t slice_ns);

uint64_t monotonic_ns(void);

#endif
