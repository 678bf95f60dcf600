/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary at the end of a recording: calls, bytes and time per layer, the busiest files with their mounts, losses and probes
 * that could not be placed; as text for users or as JSON for programs.
 */
#ifndef IOPROBE_SINK_SUMMARY_H
#define IOPROBE_SINK_SUMMARY_H

#include "model/model.h"
#include "sink/summary/summary_counts.h"
#include <stdio.h>

/* Writes to out when finish() is called. */
int summary_sink_create(struct sink **out_sink, FILE *out, bool json);
/* Also writes it as JSON to file (not owned). */
void summary_sink_also_json(struct sink *sink, FILE *file);
/* The text includes system files (/proc, /sys, /etc) and libraries. */
void summary_sink_all_files(struct sink *sink);
void summary_sink_destroy(struct sink *sink);

/* Returns "shared", "node" or "unknown" for a scope. */
const char *summary_scope_name(enum model_scope scope);

/* ---- for following a recording ---- */

/* A sink that writes nothing: for summary_sink_changes only. */
int summary_sink_create_counter(struct sink **out_sink);

/* What an interval adds; numbers only. time_ns: only the part of a call within the interval. longest_ns: full time of the longest
 * call that ended in it; the summary has the maximum. open_calls: calls open at its end. Neither of these two adds up. */
struct summary_calls {
	uint64_t calls, failed, time_ns, system_ns, longest_ns, open_calls;
	struct summary_sizes sizes;
	struct summary_class classes[MODEL_CLASSES];
};
void summary_calls_add(struct summary_calls *to, const struct summary_calls *from);
/* The same of a process on a handle. classes: of calls that ended; their times add up to that of counts. */
struct summary_operations {
	struct summary_counts counts;
	uint64_t longest_ns;
	struct summary_class classes[MODEL_CLASSES];
	struct summary_sizes sizes;
};
/* Time from one moment to another, before the current interval, of a call that was not known then. */
struct summary_earlier {
	uint32_t group, handle;         /* handle: only without a layer */
	const char *layer;              /* NULL: of operations on the handle */
	uint64_t from_ns, to_ns;
	enum model_class class;
	bool system; /* of the layer's time in system calls, not of its time */
};
struct summary_changes {
	void *arg;
	/* Calls of a layer in a process. Returns 0 or -errno. */
	int (*calls)(void *arg, uint32_t group, const char *layer, const struct summary_calls *added);
	/* Operations of a process on a handle. Returns 0 or -errno. */
	int (*operations)(void *arg, uint32_t group, uint32_t handle, const struct summary_operations *added);
	/* Returns 0 or -errno. */
	int (*earlier)(void *arg, const struct summary_earlier *earlier);
};
/* Reports what the interval adds that ends at end_ns, where the next begins, so that all reports add up to the summary. last: no
 * event follows; operations that have not ended count as of unknown size, as in the summary. Returns 0 or -errno. */
int summary_sink_changes(struct sink *sink, const struct model *model, uint64_t end_ns, bool last,
			 const struct summary_changes *to);
/* To be called after an event: when SUMMARY_MOST_CHANGES handles were used since the last report, reports operations so far, so
 * that memory does not grow with the files of an interval. Returns 0 or -errno. */
#define SUMMARY_MOST_CHANGES 4096
int summary_sink_flush(struct sink *sink, const struct summary_changes *to);
/* Calls that have begun and not ended, as far as their begin was recorded: that of a call without recorded calls inside is recorded
 * with its end. */
uint64_t summary_sink_open_calls(const struct sink *sink);

#endif
