/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A recording while it is made: the summary, interval by interval. All intervals of a recording add up to its summary.json.
 */
#ifndef IOPROBE_STREAM_LIVE_H
#define IOPROBE_STREAM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "sink/summary/summary.h"

/* Times are nanoseconds since 1970 by the clock of the recording's host, strings are valid during the call only; NULL: not
 * known. */

struct live_job {
	const char *host, *kernel, *version, *batch_job, *command_line;
	uint64_t begin_ns, interval_ns;
};

/* Rank, name and executable may become known late: the last definition of an id counts. */
struct live_process {
	uint32_t id, pid;
	int64_t rank; /* -1: not an MPI rank */
	const char *name, *executable;
};

/* Two ids may turn out to be the same file: operations on a handle whose file is not known yet have an id of their own, whose
 * path may come later. */
struct live_file {
	uint32_t id;
	const char *path, *mount_point, *mount_source, *fs_type, *scope;
	bool special; /* a pipe, a socket or the like */
};

struct live_calls {
	uint32_t process;
	const char *layer;
	const struct summary_calls *added;
};
struct live_operations {
	uint32_t process, file;
	const char *layer;
	const struct summary_counts *added;
};

struct live_interval {
	uint64_t number; /* begin_ns / interval_ns: the same for the same recording, whoever follows it */
	uint64_t begin_ns, end_ns;
	uint64_t open_calls; /* begun and not ended */
	uint64_t lag_ns; /* from its end until now */
	bool last;
};

struct live_end {
	bool complete;
	uint64_t records_lost, records_after_bound, end_ns;
	const char *stopped_by;
};

/* Where it goes. Functions return 0, or -errno with one line in *err, which ends the following; a function that is NULL is not
 * called. */
struct live_output {
	int (*begin)(struct live_output *output, const struct live_job *job);
	int (*process)(struct live_output *output, const struct live_process *process);
	int (*file)(struct live_output *output, const struct live_file *file);
	int (*calls)(struct live_output *output, const struct live_interval *interval, const struct live_calls *calls);
	int (*operations)(struct live_output *output, const struct live_interval *interval,
			  const struct live_operations *operations);
	/* All of the interval was reported: it may be kept for good. */
	int (*interval)(struct live_output *output, const struct live_interval *interval);
	int (*end)(struct live_output *output, const struct live_end *end);
	char err[512];
};

/* A sink for replay_run that reports to the outputs, which stay the caller's. Returns 0 or -ENOMEM. */
int live_sink_create(struct sink **out, struct live_output **outputs, size_t noutputs, uint64_t interval_ns);
void live_sink_destroy(struct sink *sink);

#endif
