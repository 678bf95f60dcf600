/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One merge from beginning to end.
 */
#ifndef IOPROBE_MERGE_RUN_H
#define IOPROBE_MERGE_RUN_H

#include <stdbool.h>
#include <stddef.h>

struct merge_options {
	const char *out;                /* must not exist, or be empty */
	char **dirs;
	size_t ndirs;
	bool same_job;                  /* the archives need not say that they are of one job */
	bool json;
};

/* Alone, or as one of several processes of a launch. What was merged is printed by the process with rank 0, errors by one of
 * them. There is nothing at out unless all went well. Returns the exit status. */
int merge_run(const struct merge_options *options);

#endif
