/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary of a running recording, interval by interval. All intervals of a recording add up to its summary.json.
 */
#ifndef IOPROBE_STREAM_LIVE_H
#define IOPROBE_STREAM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "sink/summary/summary.h"

/* How file names are reported: in full; the mount point only; the mount point and a hash of the path. Except for full, directories
 * and command lines of programs are not reported either. */
enum live_names { LIVE_NAMES_FULL, LIVE_NAMES_MOUNT, LIVE_NAMES_HASH };

/* Which calls are reported one by one. */
enum live_events { LIVE_EVENTS_NONE, LIVE_EVENTS_ERRORS, LIVE_EVENTS_SLOW, LIVE_EVENTS_SAMPLE, LIVE_EVENTS_ALL };

/* How a stream is doing. The follower is its user's: who reads this must take any numbers. */
struct live_report {
	uint64_t intervals; /* complete ones, except the last of the recording, which ends before its time */
	uint64_t lag_ns; /* of all these: from the end of each until all outputs had it */
	uint64_t missed; /* intervals that an output did not get because it had failed, added up over the outputs */
};

struct live_options {
	uint64_t interval_ns;
	enum live_names names;
	enum live_events events;
	uint64_t slow_ns; /* of LIVE_EVENTS_SLOW: those that took so long */
	uint64_t sample; /* of LIVE_EVENTS_SAMPLE: one of so many */
	struct live_report *report; /* updated at each interval; NULL: not wanted */
};

/* Times are nanoseconds since 1970 by the clock of the recording's host, strings are valid during the call only; NULL: unknown. */

struct live_job {
	const char *host, *kernel, *version, *batch_job, *command_line;
	uint64_t begin_ns, interval_ns; /* begin_ns: as far as it is known to the follower now */
	uint32_t recording; /* distinguishes recordings of a host: the same for every follower */
};

/* Rank, name and executable may become known late: the last definition of an id is valid. */
struct live_process {
	uint32_t id, pid;
	int64_t rank; /* -1: not an MPI rank */
	const char *name, *executable;
	int64_t uid; /* -1: not known */
	uint64_t begin_ns; /* of the process, or when it was first seen; 0: not known */
	const char *batch_job;
};

/* Two ids may turn out to be the same file: operations on a handle whose file is unknown get an id of their own, whose path may be
 * reported later. */
struct live_file {
	uint32_t id;
	const char *path, *mount_point, *mount_source, *fs_type, *scope;
	bool special; /* a pipe, a socket or the like */
};

/* interval: the one that the row belongs to. If it is earlier than the reported one: time of a call that was not known then,
 * because calls without recorded calls inside are recorded when they end. */
struct live_calls {
	uint64_t interval;
	const struct live_process *process;
	const char *layer;
	const struct summary_calls *added;
};
struct live_operations {
	uint64_t interval;
	const struct live_process *process;
	const struct live_file *file;
	const char *layer;
	const struct summary_operations *added; /* longest_ns: of the calls that ended in the interval */
};

enum live_op { LIVE_OP_OTHER, LIVE_OP_OPEN, LIVE_OP_READ, LIVE_OP_WRITE, LIVE_OP_CLOSE, LIVE_OP_FLUSH };

/* What Darshan's connector to LDMS would publish with the event, see stream/darshan.h. -1: does not apply, or not known. */
struct live_darshan {
	const char *module; /* NULL: it would publish nothing, the other members mean nothing */
	const char *record; /* the record's name */
	uint64_t record_id;
	int64_t max_byte, switches, flushes, off, len;
	uint64_t cnt, total_ns;
};

/* A call, or one operation of it. */
struct live_event {
	const struct live_process *process;
	const struct live_file *file; /* NULL: on none, or not known */
	const char *name; /* of the object in the file, or of a standard stream; NULL */
	uint32_t tid;
	const char *layer, *call;
	enum live_op op;
	uint64_t begin_ns, end_ns;
	uint64_t offset, asked, moved; /* OFFSET_UNKNOWN, BYTES_UNKNOWN */
	bool failed;
	int32_t error; /* errno or the library's own code; 0: none, or not known */
	uint64_t weight; /* number of calls that it represents */
	struct live_darshan darshan;
	char record_room[8400];
};

/* "open", …; "other". */
const char *live_op_name(enum live_op op);

/* Calls that a filter of the recording skipped: counted in the kernel, about once per second. process NULL: not known. */
struct live_skipped {
	const struct live_process *process;
	const char *filter, *layer;
	uint64_t calls, bytes_read, bytes_written, calls_of_unknown_size, time_ns;
};

/* An interval in which a layer of a process was not observed; reported at its end. */
struct live_gap {
	uint32_t pid;
	const char *layer, *reason;
	uint64_t begin_ns, end_ns;
};

/* The wall clock of the recording's host was set, forward by step_ns, in the last uncertain_ns before time_ns (by the new clock).
 * */
struct live_clock_step {
	uint64_t time_ns;
	int64_t step_ns;
	uint64_t uncertain_ns;
};

/* Intervals have one length and consecutive numbers, also when the clock is set. */
struct live_interval {
	uint64_t number; /* begin_ns / interval_ns by the clock as the recording began with it: the same for every follower */
	uint64_t begin_ns, end_ns; /* by the clock at its begin */
	uint64_t open_calls; /* begun and not returned */
	uint64_t records_lost; /* increase since the previous interval, as far as noticed */
	uint64_t lag_ns; /* from the end of the interval until now */
	bool last;
};

struct live_end {
	bool complete;
	uint64_t records_lost, records_after_bound, end_ns;
	const char *stopped_by;
};

/* Where it goes. Functions return 0, or -errno with one line in *err, which ends the output; a function that is NULL is not
 * called. */
struct live_output {
	int (*begin)(struct live_output *output, const struct live_job *job);
	int (*process)(struct live_output *output, const struct live_process *process);
	int (*file)(struct live_output *output, const struct live_file *file);
	int (*calls)(struct live_output *output, const struct live_interval *interval, const struct live_calls *calls);
	int (*operations)(struct live_output *output, const struct live_interval *interval,
			  const struct live_operations *operations);
	/* A call that ended in this interval, before the interval's other rows. */
	int (*event)(struct live_output *output, const struct live_interval *interval, const struct live_event *event);
	int (*skipped)(struct live_output *output, const struct live_interval *interval, const struct live_skipped *skipped);
	int (*gap)(struct live_output *output, const struct live_interval *interval, const struct live_gap *gap);
	int (*clock_step)(struct live_output *output, const struct live_interval *interval, const struct live_clock_step *step);
	/* The interval is complete: it may be committed. */
	int (*interval)(struct live_output *output, const struct live_interval *interval);
	int (*end)(struct live_output *output, const struct live_end *end);
	void (*destroy)(struct live_output *output);
	/* Set by follow_recording: whether the recording has ended, so that an output does not wait for long any more; NULL: not
	 * known. */
	bool (*recording_over)(void *over_arg);
	void *over_arg;
	char err[512];
	int failed; /* the -errno of a function: it is not called any more, others go on */
	uint64_t delivered, missed; /* intervals: that it was given, and those after it failed */
	bool unconfirmed; /* another program publishes what it is given, and does not tell what it has published */
};

/* A sink for replay_run that reports to the outputs, which stay the caller's. Returns 0 or -ENOMEM. */
int live_sink_create(struct sink **out, struct live_output **outputs, size_t noutputs, const struct live_options *options);
void live_sink_destroy(struct sink *sink);

#endif
