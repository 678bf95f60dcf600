/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary at the end of a recording: per layer calls, bytes and time, the busiest files with their mounts, losses and
 * probes that could not be placed; as text for people or as JSON for programs.
 */
#ifndef IOPROBE_SINK_SUMMARY_H
#define IOPROBE_SINK_SUMMARY_H

#include "model/model.h"
#include <stdio.h>

/* Writes to out when finish() is called. */
int summary_sink_create(struct sink **out_sink, FILE *out, bool json);
/* Also writes it as JSON to file (not owned). */
void summary_sink_also_json(struct sink *sink, FILE *file);
/* The text lists files of the system (/proc, /sys, /etc) and libraries, too. */
void summary_sink_all_files(struct sink *sink);
void summary_sink_destroy(struct sink *sink);

#endif
