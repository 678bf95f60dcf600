/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Progress line on the terminal for work that takes longer than two seconds: "making the archive: 37 %". Nothing is written if
 * stderr is not a terminal.
 */
#ifndef IOPROBE_PROGRESS_H
#define IOPROBE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_INTERVAL_MS 250        /* how often progress_update should be called */

struct progress { const char *what; int64_t start_ms, shown_ms; bool shown; };

void progress_begin(struct progress *progress, const char *what);
/* total 0: unknown, the elapsed time is shown instead. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);   /* removes the line */

#endif
