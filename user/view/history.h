/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The last intervals of a recording as JSON, for a page: one object per interval, bounded in number and size. One thread writes,
 * others read.
 */
#ifndef IOPROBE_VIEW_HISTORY_H
#define IOPROBE_VIEW_HISTORY_H

#include <stddef.h>

#include "stream/live.h"

#define HISTORY_INTERVALS 900 /* that are kept */
#define HISTORY_PROCESSES 256 /* of an interval: those with most time */
#define HISTORY_FILES 20

struct history;

/* output: its live_output, which belongs to it. Returns 0 or -ENOMEM. */
int history_create(struct history **history, struct live_output **output);
void history_destroy(struct history *history);

/* The text of an interval, or of the recording's begin (number 0) and end (the last); to be freed. Waits until there is one,
 * wait_ms at most. *number: the first that is wanted; becomes the one that came, as older ones may be gone. NULL: there is
 * none yet, or no memory. */
char *history_next(struct history *history, uint64_t *number, unsigned wait_ms);

#endif
