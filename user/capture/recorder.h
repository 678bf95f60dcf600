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
#include "bpf/bpf_side.h"
#include "proc/job_processes.h"
#include "privilege/identity.h"

struct recorder_options {
	const struct table_set *set;
	const char *spool_path;         /* of the spool, for messages */
	const pid_t *pids;              /* running processes and their descendants; or */
	size_t npids;
	char **command;                 /* a program to launch, NULL-terminated, */
	const struct identity *caller;  /* as this user */
	char **environment;             /* with this environment; or */
	/* a batch job: its processes that run now, and those that it starts later, whichever process starts them */
	struct members *job;
	bool job_must_run;              /* it is an error if no process of it runs now */
	double idle_limit_s;            /* of a job: ends when it had no process for this long, 0: never */
	double duration_s;              /* 0: until the targets end, or a signal */
	double max_overhead_percent;    /* of each process' time, 0: no limit */
	const struct bounds *bounds;    /* on what is written; NULL: none */
	const struct filter *filter;    /* an empty one excludes nothing */
	uid_t only_of; /* not 0: on behalf of this user; set-uid and otherwise privileged programs are then not recorded */
	struct program_options kernel;
	const char *const *shared_mounts;       /* mount points of file systems that are shared by the nodes */
	size_t nshared_mounts;
	bool no_shared_links;           /* no links for all, however many processes share a library */
	bool lazy_streams;              /* processes that live less than 10 ms have no probes on streams */
	struct recorder_prepared *prepared;     /* NULL: prepared here; ownership is taken */
	bool force;                     /* attach, however many sets of programs are attached on this node */
	struct spool_writer *spool;     /* where the records go; ownership is taken */
	const char *host;               /* the node's name for the trace, NULL: the system's */
	const char *command_line;       /* ioprobe's own, for the archive; NULL: none */
	const char *cluster;            /* the batch system's name of the whole machine, NULL or "": unknown */
	bool followed;                  /* records are written more often: somebody reads them meanwhile */
	void (*ready)(void *arg, size_t processes, size_t probes);       /* called when recording has begun */
	void *ready_arg;
};

/* Preparation that takes long, does not depend on the targets and costs other processes nothing: loading the programs, measuring
 * the cost of a probe. */
struct recorder_prepared { struct bpf_side *kernel; struct hold_server *server; struct probe_cost cost; bool measured, shared; };

struct recorder_result {
	pid_t command_pid;              /* of the launched program, 0: not started */
	int launch_error; /* -errno: why the program could not be executed; 0: it was executed, or not started for another reason */
	bool command_ended;             /* wait_status is valid */
	int wait_status;
	const char *stopped_by;         /* why the recording ended: "end", "signal", "duration", "max-size", …; NULL: an error */
	char reason[160];               /* the same as a line, "" for an error */
	uint64_t records, lost;
	size_t processes;               /* number of recorded processes */
	struct hold_guarding guarding;  /* the process that stays for calls in flight; pid 0: none */
};

/* Returns whether a limit of the user or the site ended it: max-size, min-free, max-rate, duration. */
bool recorder_stopped_early(const struct recorder_result *result);

/* Options used: set, filter, kernel, command or job, only_of, max_overhead_percent. *prepared must be empty. programs: a shared set
 * with the id of this recording, of which it takes ownership; NULL: a set is loaded. Returns 0, or -errno with one line in err. */
int recorder_prepare(const struct recorder_options *options, struct programs *programs, uint32_t id,
		     struct recorder_prepared *prepared, char *err, size_t err_len);
/* Returns whether any of options->pids belongs to another recording of the shared set. */
bool recorder_has_foreign(const struct recorder_options *options, const struct recorder_prepared *prepared);
void recorder_discard(struct recorder_prepared *prepared);      /* instead of a recording */

/* Returns 0, or -errno with one line in err. The spool contains what was recorded until an error. */
int recorder_run(const struct recorder_options *options, struct recorder_result *result, char *err, size_t err_len);

#endif
