/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Work that needs no privileges and reads files of a user runs in a process of its own: permanently as that user, in the user's
 * directory, without capabilities, terminal or inherited descriptors. A crash then only causes an error message.
 */
#ifndef IOPROBE_WORKER_H
#define IOPROBE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "privilege/identity.h"

struct worker_progress { uint64_t done, total; };       /* total 0: unknown */

struct worker {
	const struct identity *who;
	int dir;                        /* becomes its current directory */
	unsigned limit_s;               /* killed after this time, 0: never */
	const char *what;               /* for messages: "making the archive" */
	/* Runs in the worker. Returns 0 or -errno with one line in err; the text that it writes is returned to the caller. */
	int (*run)(void *arg, FILE *text, char *err, size_t err_len);
	void *arg;
	/* Progress, in memory shared by mmap(2): written by run, shown on the caller's terminal. NULL: not shown. */
	volatile struct worker_progress *progress;
	bool threads;                   /* it may start threads: the process limit, which counts threads, is not set to 0 */
};

/* Runs the worker and waits for it; the worker dies with the calling thread. The process must have no other threads. Returns the
 * result of run, -ECANCELED if the worker crashed or was killed, -ETIMEDOUT, or another -errno, with one line in err. The caller
 * frees *text, which is NULL if there is none. */
int worker_run(const struct worker *worker, char **text, size_t *text_len, char *err, size_t err_len);

#endif
