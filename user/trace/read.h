/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the events of an archive, locations in parallel: each location is read from its first to its last event by one thread.
 */
#ifndef IOPROBE_TRACE_READ_H
#define IOPROBE_TRACE_READ_H

#include "trace/trace.h"

enum trace_op_kind { OP_READ, OP_WRITE, OP_FLUSH };
enum trace_handle_event { HANDLE_CREATE, HANDLE_CREATE_FILE, HANDLE_DESTROY, HANDLE_DUPLICATE, HANDLE_SEEK, HANDLE_LOCK,
	HANDLE_UNLOCK, HANDLE_DELETE };

struct trace_op {
	uint64_t id, bytes, offset;     /* requested bytes, offset: TRACE_UNKNOWN */
	uint64_t request;               /* id of the operation that this one carries out for another thread, TRACE_UNKNOWN: none */
	uint32_t handle;
	enum trace_op_kind kind;
	bool non_blocking, collective, unaligned;       /* unaligned: its buffer, in memory */
};

/* Times of an outermost call in nanoseconds, as far as has_call, and of its thread since the one before, as far as has_before. */
struct trace_cpu { bool has_call, has_before; uint64_t cpu_ns, sleep_ns, io_sleep_ns, delay_ns, before_sleep_ns, before_delay_ns; };

/* mapped_handle TRACE_NONE: no mapping. path, directory: strings, what a call on a name was given and where a relative path begins;
 * TRACE_NONE */
struct trace_leave { int32_t error; bool failed, abandoned; uint64_t mapped_bytes; uint32_t mapped_handle, path,
	directory; struct trace_cpu cpu; };

/* Implemented by a consumer of events; ns: nanoseconds since the beginning of the trace; region, handle: valid or TRACE_NONE. */
struct trace_visitor {
	bool (*selects)(void *worker, uint32_t location);       /* false: the location is not read; NULL: all are */
	void (*location_begin)(void *worker, uint32_t location);
	void (*location_end)(void *worker, uint32_t location);
	void (*enter)(void *worker, uint64_t ns, uint32_t region, uint32_t site);
	void (*leave)(void *worker, uint64_t ns, uint32_t region, const struct trace_leave *leave);
	void (*begin)(void *worker, uint64_t ns, const struct trace_op *op);
	void (*complete)(void *worker, uint64_t ns, uint32_t handle, uint64_t id, uint64_t bytes);
	/* other: the new handle of a duplicate, the file of a delete; position: a seek's result, else TRACE_UNKNOWN; an open that
	 * may create a file is HANDLE_CREATE_FILE */
	void (*handle)(void *worker, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other,
		       uint64_t position);
};

/* A call site: a source code location, or a calling context if this bit is set. */
#define TRACE_SITE_CONTEXT 0x80000000u

/* Reads all locations with nworkers threads; workers: one pointer per thread. Sets the locations' read and damaged. Returns 0, or
 * -errno with one line in err if nothing could be read. */
int trace_read(struct trace *trace, const struct trace_visitor *visitor, void **workers, unsigned nworkers, char *err,
	       size_t err_len);

#endif
