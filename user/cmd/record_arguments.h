/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Command-line arguments of a recording.
 */
#ifndef IOPROBE_RECORD_ARGUMENTS_H
#define IOPROBE_RECORD_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/settings.h"
#include "cmd/cli.h"
#include "cmd/summary_output.h"
#include "privilege/identity.h"
#include "proc/job_processes.h"

#define RECORD_MAX_PIDS 4096
#define RECORD_SITE_FRAMES 4     /* application frames of a call site, unless --call-sites=N or --no-call-sites is given */

struct record_arguments {
	pid_t pids[RECORD_MAX_PIDS];
	size_t npids;
	const char *job, *node;
	struct members members;
	char **command, **environment;
	pid_t env_from;                         /* 0: not given */
	struct identity caller;
	char dir[4096];
	double max_overhead;                    /* < 0: not given */
	const char *tables[64];
	size_t ntables;
	struct summary_output summary;
	char *command_line;                     /* ioprobe's own */
	bool all_files, sockets, device, cpu_time, collectives, mmap_faults, force;
	unsigned call_sites;                    /* number of application frames, 0: not recorded */
	unsigned method;
	uint64_t ring_bytes;
	struct settings settings;
};

extern const struct cli_option record_options[];

/* Fills *a, which must be empty except for the defaults; exits after a usage error. */
void record_arguments_parse(struct record_arguments *a, struct cli *cli);

#endif
