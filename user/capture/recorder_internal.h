/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a recording, shared by its beginning (recorder_begin.c) and its main loop (recorder.c).
 */
#ifndef IOPROBE_RECORDER_INTERNAL_H
#define IOPROBE_RECORDER_INTERNAL_H

#include <signal.h>

#include "capture/budget.h"
#include "capture/overhead_limit.h"
#include "capture/clock.h"
#include "capture/demand.h"
#include "bpf/hold_server.h"
#include "capture/object_numbers.h"
#include "capture/probe_costs.h"
#include "proc/launch.h"
#include "capture/excluded.h"
#include "bpf/links.h"
#include "capture/recorder.h"
#include "capture/sites.h"
#include "capture/stripes.h"
#include "bpf/rings.h"
#include "capture/targets.h"
#include "parse/parse.h"

/* Events derived from drained records; handled after the round, when the rings are empty. */
#define EVENT_NOT_HELD 255        /* in addition to the record types */
/* other: the parent of a fork, the thread that called exec */
struct process_event { uint8_t type; pid_t pid, other; uint64_t time_ns; };

struct recorder {
	const struct recorder_options *options;
	struct recorder_result *result;
	struct bpf_side *kernel;
	struct rings *rings;
	struct parse_pool *parsers;
	struct hold_server *server;
	struct targets *targets;
	struct overhead_limit *overhead;        /* NULL: none */
	struct probe_costs *costs;      /* NULL: not measured */
	struct bounds bounds;
	struct budget *budget;
	struct excluded *excluded;
	struct demands *demands;
	struct sites *sites;            /* NULL: call sites are not recorded */
	struct stripes *stripes;        /* NULL: without memory */
	struct clock_watch clock;
	struct spool_writer *spool;
	struct object_numbers object_numbers;
	struct launch launch;
	struct recorder_prepared prepared;
	bool launched, raised, stop;
	uint64_t empty_since_ns, unread_environments, unread_checked_ns;   /* for a job */
	size_t late;                    /* processes of the job that were already running */
	size_t foreign, foreign_now;    /* processes that belong to another recording: maximum over all searches, current search */
	unsigned interrupts;
	int epoll_fd, signal_fd, old_nice;
	sigset_t old_mask;
	struct process_event *events;
	size_t nevents, events_cap, events_dropped;   /* dropped: out of memory */
	bool may_miss_ends;             /* some record was lost: it may have been the exit of a target */
	size_t unreported_ends;         /* targets that ended without an exit record */
	uint64_t faults_excluded;       /* on mapped files that are filtered */
	uint64_t lost_noted, lost_since_ns, flushed_ns, end_ns;
	uint64_t begun_ns, stopped_ns;  /* targets are recorded between these times; 0: not yet */
	const char *stopped_by, *reason, *remark;       /* why it ended, as a keyword and a line; a remark for the user */
	char *err;
	size_t err_len;
};

/* ---- recorder_begin.c: 0, or -errno with err filled ---- */

int recorder_open(struct recorder *r);                  /* signals, spool, BPF programs, overhead limit */
int recorder_start_targets(struct recorder *r);         /* targets are recorded from here on */

/* Finds the job's processes that run now; the caller frees *pids. */
int recorder_find_job_processes(struct recorder *r, pid_t **pids, size_t *n);

/* Attaches processes that already run, or whose exec could not be matched. One that has ended meanwhile is not an error. Returns
 * the number of new ones. */
size_t recorder_attach_job_processes(struct recorder *r, const pid_t *pids, size_t n);

/* ---- recorder.c ---- */

/* Drains the rings and handles the events in the records. */
void recorder_round(struct recorder *r);
/* only drains them, while the caller waits for something else; arg is the recorder */
void recorder_drain(void *arg);
void recorder_on_record(void *arg, const struct iop_rec *rec);  /* for each drained record; arg is the recorder */

/* ---- recorder_notes.c ---- */

/* Writes the records MAPPED and END, and fills the counts of the result. */
void recorder_note_end(struct recorder *r);

#endif
