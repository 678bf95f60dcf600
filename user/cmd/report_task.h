/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Makes a report: for "ioprobe report" and at the end of a recording.
 */
#ifndef IOPROBE_CMD_REPORT_TASK_H
#define IOPROBE_CMD_REPORT_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/analysis.h"
#include "analysis/peers.h"
#include "privilege/identity.h"
#include "report/report.h"

struct report_task {
	const char *name, *anchor; /* the archive: for messages, and its anchor file below dir */
	int dir; /* the archive's directory */
	const struct report_format *format;
	struct report_options options;
	struct facts_filter filter;
	struct thresholds thresholds;
	enum severity severity; /* lowest severity for found */
	/* Results: */
	char *text; /* the report, to be freed */
	size_t len;
	bool found; /* there is a finding of this severity or a higher one */
};

/* Defaults: the whole archive as text, with the default thresholds. */
void report_task_init(struct report_task *task, const char *name, int dir);

/* Returns NULL if there is no such format. */
const struct report_format *report_format_find(const char *name);

/* Returns the format for a file name's suffix (.html, .json, .sarif, .csv), else text. */
const struct report_format *report_format_of_file(const char *file);

/* Processes that make a report together, set by ioprobe-mpi; NULL: this one alone. Only the first has the text, the others have
 * none. */
extern const struct peers *report_peers;

/* Reads the archive in a process with the rights of who, because libotf2 may crash on a damaged one. Must be called without other
 * threads. Returns 0, or -errno with one line in err. */
int report_task_run(struct report_task *task, const struct identity *who, char *err, size_t err_len);

#endif
