/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From events to calls: each I/O call that has ended, with what it did to which handle.
 */
#ifndef IOPROBE_STREAM_CALLS_H
#define IOPROBE_STREAM_CALLS_H

#include "model/model.h"
#include "stream/live.h"

/* Times are CLOCK_MONOTONIC. A call that did several operations is reported once for each; an operation that ends outside of its
 * call, when it ends. */
struct ended_call {
	uint32_t location, region;
	uint32_t handle; /* REF_NONE: on none */
	enum live_op op;
	uint64_t begin_ns, end_ns;
	uint64_t offset, asked, moved; /* OFFSET_UNKNOWN, BYTES_UNKNOWN */
	bool failed;
	int32_t error; /* 0: none, or not known */
};

struct calls;

struct calls *calls_create(void); /* NULL without memory */
void calls_destroy(struct calls *calls);

/* Calls ended() for what ends with the event. Returns 0, or a negative errno, of ended() too. */
int calls_event(struct calls *calls, const struct model *model, const struct model_event *e,
		int (*ended)(void *arg, const struct ended_call *call), void *arg);
void calls_location_end(struct calls *calls, uint32_t location);

#endif
