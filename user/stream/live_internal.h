/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the live sink, shared by its parts: live.c divides time into intervals, live_definitions.c reports processes and
 * files, live_events.c single calls.
 */
#ifndef IOPROBE_STREAM_LIVE_INTERNAL_H
#define IOPROBE_STREAM_LIVE_INTERNAL_H

#include "stream/calls.h"
#include "stream/darshan.h"
#include "stream/live.h"
#include "stream/live_rows.h"

#define FILE_NAME_ROOM 4200

/* What was already reported of a process, to detect changes. */
struct known_process {
	const char *name, *executable, *batch_job;
	int64_t rank, uid;
	bool reported;
};

struct live_sink {
	struct sink sink; /* first member: the public interface */
	struct sink *counter;
	struct live_output **outputs;
	size_t noutputs;
	struct live_options options;
	struct calls *calls; /* NULL: events are not wanted */
	struct darshan_records *darshan;
	struct live_interval now;
	bool begun;
	const struct model *model; /* during a call */
	MODEL_ARRAY(struct known_process, processes);
	MODEL_ARRAY(uint64_t, files); /* by file: a hash of what was reported of it; 0: nothing was */
	MODEL_ARRAY(uint64_t, handles); /* the same by handle, of those that were reported as an unknown file */
	/* Already reported, per entry of the model's: excluded, excluded_parts. */
	MODEL_ARRAY(struct model_excluded, skipped);
	MODEL_ARRAY(struct model_excluded_part, skipped_parts);
	struct live_rows rows;
	size_t ngaps, nsteps; /* that were reported */
	uint64_t end_ns; /* of the current interval, as steady_ns counts */
	uint64_t lost; /* the same */
	uint64_t nevents; /* that were looked at */
};

/* Reports to all outputs that have not failed. Fails when all have. */
#define REPORT(sink, function, ...) \
	({ \
		for (size_t i_ = 0; i_ < (sink)->noutputs; i_++) { \
			struct live_output *output_ = (sink)->outputs[i_]; \
			if (output_->function && !output_->failed) \
				output_->failed = output_->function(output_, __VA_ARGS__); \
		} \
		live_first_failure(sink); \
	})

/* Returns the -errno of an output if none is left, else 0. */
int live_first_failure(const struct live_sink *s);

/* The wall clock as if no one had set it since the recording began: intervals are divided by it, so that they have one length and
 * none comes twice. */
uint64_t live_steady_ns(const struct model *model, uint64_t monotonic_ns);

/* Makes room for index. The arrays have the layout of MODEL_ARRAY but are not part of the model. Returns 0 or -ENOMEM. */
#define GROW(array, index) live_grow((void **)&(array).v, &(array).n, &(array).cap, sizeof(*(array).v), index)
int live_grow(void **v, size_t *n, size_t *cap, size_t size, size_t index);

/* name: buffer for its name, as long as that is not final. */
struct live_process live_describe_process(const struct live_sink *s, uint32_t group, char *name, size_t len);
/* name: buffer for its path. */
struct live_file live_describe_file(const struct live_sink *s, uint32_t id, uint32_t ref, char *name, size_t len);
/* Reports a process before its first row, and when more of it becomes known. Returns 0 or -errno. */
int live_report_process(struct live_sink *s, const struct live_process *process);
/* Returns the id of the handle's file; the file is reported before its first use. Returns 0 or -errno. */
int live_file_of(struct live_sink *s, uint32_t handle, uint32_t *id);
/* At the end: processes and files of which something else is known than was reported. Returns 0 or -errno. */
int live_revise(struct live_sink *s);

/* A call has ended: counted whether or not it is reported, for counters are those of all calls. arg: the sink. Returns 0 or
 * -errno. */
int live_ended_call(void *arg, const struct ended_call *call);

#endif
