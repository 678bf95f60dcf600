/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Work that needs no rights, and that reads what a user owns, runs in a process of its own: as that user for good, in his
 * directory, without capabilities, terminal, or descriptors of ours. If it crashes, that costs a message.
 */
#ifndef IOPROBE_WORKER_H
#define IOPROBE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "privilege/identity.h"

struct worker_progress { uint64_t done, total; };       /* total 0: not known */

struct worker {
	const struct identity *who;
	int dir;                        /* becomes its current directory */
	unsigned limit_s;               /* it is killed after this time, 0: never */
	const char *what;               /* for messages: "making the archive" */
	/* Runs there. Returns 0 or -errno with one line in err; what it writes to text comes back. */
	int (*run)(void *arg, FILE *text, char *err, size_t err_len);
	void *arg;
	/* How far it is, in memory that is shared by mmap(2): run writes it, the caller's terminal shows it. NULL: nothing is shown. */
	volatile struct worker_progress *progress;
	bool threads;                   /* it may start threads: the limit on processes, which counts them, is not set to 0 */
};

/* Runs it and waits; it ends with the calling thread at the latest. Call it without other threads. Returns what run returned,
 * -ECANCELED if the process crashed or was killed, -ETIMEDOUT, or another -errno, with one line in err. *text is to be freed, NULL
 * if there is none. */
int worker_run(const struct worker *worker, char **text, size_t *text_len, char *err, size_t err_len);

#endif
