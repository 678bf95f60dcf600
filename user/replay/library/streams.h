/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Standard streams of a C library: one handle each, whether a call names the stream (printf) or passes its address (fprintf).
 */
#ifndef IOPROBE_REPLAY_LIBRARY_STREAMS_H
#define IOPROBE_REPLAY_LIBRARY_STREAMS_H

#include "replay/state.h"

/* Returns the value by which the object of a handle is found: STANDARD_STREAM(n) for the address of a standard stream, else the
 * value itself. */
uint64_t stream_key(const struct process *process, uint32_t layer, uint64_t value);

/* Gives a new object that is a standard stream its name, its access mode and the file of its descriptor at that time. Others stay
 * as they are. */
void stream_describe(struct replay *r, struct process *process, struct fd_table *table, struct object *object, uint64_t time_ns);

/* The address of a standard stream of the process is known from now on. If calls have used it before, their object becomes that of
 * the stream. */
void stream_learn(struct replay *r, struct process *process, uint32_t layer, unsigned n, uint64_t address, uint64_t time_ns);

/* Returns the bytes that a call has taken from a stream, from what was unread in its buffer before and after, and from the reads
 * inside the call; BYTES_UNKNOWN if a filter may have excluded these. */
uint64_t stream_bytes_read(const struct replay *r, const struct frame *f);

#endif
