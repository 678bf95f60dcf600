/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary at the end of a recording: per layer calls, bytes and time, the busiest files with their mounts, losses and
 * probes that could not be placed; as text for people or as JSON for programs.
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
/* The text lists files of the system (/proc, /sys, /etc) and libraries, too. */
void summary_sink_all_files(struct sink *sink);
void summary_sink_destroy(struct sink *sink);

/* "shared", "node" or "unknown" for a scope. */
const char *summary_scope_name(enum model_scope scope);

/* ---- for those who follow a recording ---- */

/* A sink that writes nothing: only for summary_sink_changes. */
int summary_sink_create_counter(struct sink **out_sink);

/* What was added since the last call. */
struct summary_calls { uint64_t calls, failed, time_ns, system_ns; };
struct summary_changes {
	void *arg;
	/* Calls of a layer in a process. Returns 0 or -errno. */
	int (*calls)(void *arg, uint32_t group, const char *layer, const struct summary_calls *added);
	/* Operations of a process on a handle. Returns 0 or -errno. */
	int (*operations)(void *arg, uint32_t group, uint32_t handle, const struct summary_counts *added);
};
/* Reports what was counted since the last call, so that all reports add up to the summary. last: no event follows; operations
 * that have not ended count as of unknown size, as in the summary. Returns 0 or -errno. */
int summary_sink_changes(struct sink *sink, const struct model *model, bool last, const struct summary_changes *to);
/* Calls that have begun and not ended. */
uint64_t summary_sink_open_calls(const struct sink *sink);

#endif
