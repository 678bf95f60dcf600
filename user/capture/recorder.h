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

#include "capture/bounds.h"
#include "capture/calibrate.h"
#include "bpf/hold_server.h"
#include "bpf/kernel_side.h"
#include "proc/members.h"
#include "privilege/identity.h"

struct recorder_options {
	const struct table_set *set;
	const char *spool_path;         /* of the spool, for messages */
	const pid_t *pids;              /* running processes, with what descends from them; or */
	size_t npids;
	char **command;                 /* a program to launch, NULL-terminated, */
	const struct identity *caller;  /* as this user */
	char **environment;             /* and in this environment; or */
	struct members *job;            /* a batch job: what runs of it now, and what it starts later, wherever that comes from */
	bool job_must_run;              /* it is an error if nothing of it runs now */
	double idle_limit_s;            /* of a job: ends when it had no process for so long, 0: never */
	double duration_s;              /* 0: until the targets end, or a signal */
	double max_overhead_percent;    /* of each process' time, 0: no ceiling */
	const struct bounds *bounds;    /* on what is written; NULL: none */
	const struct filter *filter;    /* an empty one wants everything */
	uid_t only_of;                  /* not 0: for this user, who must not see what programs do that have more rights than he */
	struct program_options kernel;
	const char *const *shared_mounts;       /* mount points of file systems that the nodes share */
	size_t nshared_mounts;
	bool no_shared_links;           /* no links for everybody, however many processes share a library */
	struct recorder_prepared *prepared;     /* NULL: prepared here; it is taken over */
	bool force;                     /* however many sets of programs are attached on this node */
	struct spool_writer *spool;     /* where the records go; it is taken over */
	const char *host;               /* the node's name for the trace, NULL: the system's */
	const char *command_line;       /* ioprobe's own, for the archive; NULL: none */
	const char *cluster;            /* the batch system's name of the whole machine, NULL or "": unknown */
	void (*ready)(void *arg, size_t processes, size_t probes);       /* called when recording has begun */
	void *ready_arg;
};

/* What takes long and does not depend on who is recorded, nor costs anybody anything: programs loaded, probes' cost measured. */
struct recorder_prepared { struct kernel_side *kernel; struct hold_server *server; struct probe_cost cost; bool measured, shared; };

struct recorder_result {
	pid_t command_pid;              /* of the launched program, 0: none was started */
	int launch_error;               /* -errno: why the program could not be executed; 0: it was, or there is another reason */
	bool command_ended;             /* wait_status is valid */
	int wait_status;
	const char *stopped_by;         /* why the recording ended: "end", "signal", "duration", "max-size", …; NULL: an error */
	char reason[160];               /* the same as a line, "" for an error */
	uint64_t records, lost;
	size_t processes;               /* that were recorded */
};

/* Whether a limit of the user's or the site's ended it: max-size, min-free, max-rate, duration. */
bool recorder_stopped_early(const struct recorder_result *result);

/* Uses of the options: set, filter, kernel, command or job, only_of, max_overhead_percent. *prepared is empty. programs: a shared set
 * with the id of this recording, which is taken over; NULL: one is loaded. Returns 0, or -errno with one line in err. */
int recorder_prepare(const struct recorder_options *options, struct programs *programs, uint32_t id,
		     struct recorder_prepared *prepared, char *err, size_t err_len);
/* Whether any of options->pids belongs to another recording of the shared set. */
bool recorder_has_foreign(const struct recorder_options *options, const struct recorder_prepared *prepared);
void recorder_discard(struct recorder_prepared *prepared);      /* instead of a recording */

/* Returns 0, or -errno with one line in err. What was recorded until an error is in the spool. */
int recorder_run(const struct recorder_options *options, struct recorder_result *result, char *err, size_t err_len);

#endif
