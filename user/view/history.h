/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The last intervals of a recording as JSON for a page: one object per interval, bounded in number and size. One thread writes,
 * others read.
 */
#ifndef IOPROBE_VIEW_HISTORY_H
#define IOPROBE_VIEW_HISTORY_H

#include <stddef.h>

#include "stream/live.h"

#define HISTORY_INTERVALS 900 /* intervals that are kept */
#define HISTORY_PROCESSES 256 /* processes per interval: those with the most time */
#define HISTORY_FILES 20

struct history;

/* output: the history's live_output, owned by it. Returns 0 or -ENOMEM. */
int history_create(struct history **history, struct live_output **output);
void history_destroy(struct history *history);

/* Returns the text of an interval, or of the recording's begin (number 0) or end (the last); the caller frees it. Waits up to
 * wait_ms for it. *number: the first one wanted; set to the one returned, because older ones may have been dropped. NULL: none yet,
 * or out of memory. */
char *history_next(struct history *history, uint64_t *number, unsigned wait_ms);

#endif
