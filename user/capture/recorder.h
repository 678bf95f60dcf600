/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One recording: from tables and targets to a finished spool.
 */
#ifndef IOPROBE_RECORDER_H
#define IOPROBE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/kernel_side.h"

struct recorder_options {
	const struct table_set *set;
	const char *spool_path;         /* made here */
	const pid_t *pids;              /* running processes, with what descends from them; or */
	size_t npids;
	char **command;                 /* a program to launch, NULL-terminated */
	double duration_s;              /* 0: until the targets end, or a signal */
	double max_overhead_percent;    /* of each process' time, 0: no ceiling */
	const struct filter *filter;    /* an empty one wants everything */
	struct kernel_options kernel;
	const char *const *shared_mounts;       /* mount points of file systems that the nodes share */
	size_t nshared_mounts;
	int argc;                       /* our own command line, for the trace */
	char **argv;
	void (*ready)(void *arg, size_t processes, size_t probes);       /* called when recording has begun */
	void *ready_arg;
};

struct recorder_result {
	bool command_ended;             /* wait_status is valid */
	int wait_status;
	uint64_t records, lost;
};

/* Returns 0, or -errno with one line in err. What was recorded until an error is in the spool. */
int recorder_run(const struct recorder_options *options, struct recorder_result *result, char *err, size_t err_len);

#endif
