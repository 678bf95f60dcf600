/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Destinations of a recording's summary and report: text to stderr, because stdout belongs to the recorded program, or files.
 */
#ifndef IOPROBE_SUMMARY_OUTPUT_H
#define IOPROBE_SUMMARY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "privilege/identity.h"

struct summary_output {
	const char *text_file;          /* --summary: a name, "none", or NULL: stderr */
	bool want_json;                 /* --json */
	const char *json_file;          /* --json=FILE, NULL: stdout, instead of the text */
	bool want_report;               /* --report */
	const char *report_file;        /* --report=FILE, NULL: stderr */
	FILE *text, *json;              /* open, or NULL: not wanted */
};

/* Opens the summary's files with the rights of who, before anything is recorded, and looks whether the report can be written.
 * quiet: no text on stderr. Returns 0, or -errno with one line in err; summary_output_close in any case. */
int summary_output_open(struct summary_output *output, const struct identity *who, bool quiet, char *err, size_t err_len);

/* Returns 0, or -errno with one line in err if the files could not be written. */
int summary_output_close(struct summary_output *output, char *err, size_t err_len);

#endif
