/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Callbacks of the OTF2 reader for one location.
 */
#ifndef IOPROBE_TRACE_EVENTS_H
#define IOPROBE_TRACE_EVENTS_H

#include <stdatomic.h>

#include <otf2/otf2.h>

#include "trace/read.h"

struct events_state {
	const struct trace *trace;
	const struct trace_visitor *visitor;
	void *worker;
	struct trace_attributes attributes;
	atomic_ullong *progress;
	uint64_t count, limit;          /* events read; the file cannot contain more than limit */
	bool overrun;
};

OTF2_ErrorCode events_register(OTF2_Reader *reader, OTF2_EvtReader *events, struct events_state *state);

#endif
