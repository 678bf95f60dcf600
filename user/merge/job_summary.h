/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary of a job, from the summary.json of its nodes: sums by layer and file, all processes. Processes are written to the
 * file as their nodes are read, so memory holds one node and the sums.
 */
#ifndef IOPROBE_MERGE_JOB_SUMMARY_H
#define IOPROBE_MERGE_JOB_SUMMARY_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "sink/summary/summary_counts.h"

#define JOB_SUMMARY_SCHEMA "ioprobe job summary 1"      /* the format, see job_summary.schema.json */

struct merge;
struct job_summary;

/* Begins DIR/summary.json. Returns 0 or -errno. */
int job_summary_create(struct job_summary **summary, const char *dir);
/* Closes the file, which stays; NULL is allowed. */
void job_summary_destroy(struct job_summary *summary);

/* Adds node_dir/summary.json; without one the node is counted as missing. Returns 0, or -errno with one line in err. */
int job_summary_add(struct job_summary *summary, const char *node_dir, char *err, size_t err_len);

/* Completes the file and moves it to the directory. Returns 0 or -errno. */
int job_summary_finish(struct job_summary *summary, const struct merge *merge, const char *dir);

/* The sums by layer, in the order of their first node: objects as in "layers" of the format. Not owned. */
json_t *job_summary_layers(const struct job_summary *summary);
unsigned job_summary_missing(const struct job_summary *summary);        /* nodes without summary.json */
/* The counts of an object of the format. */
struct summary_counts job_summary_counts(const json_t *object);
/* A table of the files that took longest. */
void job_summary_print_files(FILE *out, const struct job_summary *summary);

#endif
