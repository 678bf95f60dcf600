/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a recording, shared by its beginning (recorder_begin.c) and what follows (recorder.c).
 */
#ifndef IOPROBE_RECORDER_INTERNAL_H
#define IOPROBE_RECORDER_INTERNAL_H

#include <signal.h>

#include "capture/budget.h"
#include "capture/ceiling.h"
#include "capture/demand.h"
#include "bpf/hold_server.h"
#include "capture/object_numbers.h"
#include "proc/launch.h"
#include "capture/left_out.h"
#include "bpf/links.h"
#include "capture/recorder.h"
#include "capture/sites.h"
#include "bpf/rings.h"
#include "capture/targets.h"
#include "parse/parse.h"

/* What a drained record asks to be done; done after the round, when the rings are empty. */
#define NEWS_NOT_HELD 255        /* beside the types of records */
struct news { uint8_t type; pid_t pid, other; uint64_t time_ns; };      /* other: of a fork the parent, of an exec the thread that called it */

struct recorder {
	const struct recorder_options *options;
	struct recorder_result *result;
	struct kernel_side *kernel;
	struct rings *rings;
	struct parse_pool *parsers;
	struct hold_server *server;
	struct targets *targets;
	struct ceiling *ceiling;        /* NULL: none */
	struct bounds bounds;
	struct budget *budget;
	struct left_out *left_out;
	struct demands *demands;
	struct sites *sites;            /* NULL: call sites are not recorded */
	struct spool_writer *spool;
	struct object_numbers object_numbers;
	struct launch launch;
	struct recorder_prepared prepared;
	bool launched, raised, stop;
	uint64_t empty_since_ns, unread_environments;   /* of a job */
	size_t late;                    /* processes of a job that ran already, though it was awaited */
	size_t foreign, foreign_now;    /* processes that another recording has: most of a search, those of this one */
	unsigned interrupts;
	int epoll_fd, signal_fd, old_nice;
	sigset_t old_mask;
	struct news *news;
	size_t nnews, news_cap, news_dropped;   /* dropped: for want of memory */
	bool may_miss_ends;             /* some record was lost: that may have been the exit of a target */
	size_t unreported_ends;         /* targets that ended without an exit record */
	uint64_t faults_left_out;       /* on mapped files that the filter excludes */
	uint64_t lost_noted, lost_since_ns, end_ns;
	uint64_t begun_ns, stopped_ns;  /* targets are recorded from the one to the other; 0: not yet */
	const char *stopped_by, *reason, *remark;       /* why it ended, as a word and a line; what the user should know of that */
	char *err;
	size_t err_len;
};

/* ---- recorder_begin.c: 0, or -errno with err filled ---- */

int recorder_open(struct recorder *r);                  /* signals, spool, kernel side, ceiling */
int recorder_start_targets(struct recorder *r);         /* they are recorded from here on */

/* The job's processes that run now; free(*pids). */
int recorder_find_members(struct recorder *r, pid_t **pids, size_t *n);

/* Takes in those that run already, or whose exec could not be judged. One that has ended meanwhile is no loss. Returns how many
 * were new. */
size_t recorder_attach_members(struct recorder *r, const pid_t *pids, size_t n);

/* ---- recorder.c ---- */

/* Drains the rings and follows what they report. */
void recorder_round(struct recorder *r);
void recorder_on_record(void *arg, const struct iop_rec *rec);  /* a drained one; arg is the recorder */

#endif
