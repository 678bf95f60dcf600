/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The line is overwritten by carriage return, without terminal escape codes, so that it works on dumb terminals.
 */
#include "util/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 2000

static int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

void progress_begin(struct progress *progress, const char *what)
{
	*progress = (struct progress){ .what = isatty(STDERR_FILENO) ? what : NULL, .start_ms = clock_ms() };
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
	int64_t now = clock_ms(), took = now - progress->start_ms;

	if (!progress->what || took < PATIENCE_MS || now - progress->shown_ms < PROGRESS_INTERVAL_MS)
		return;
	progress->shown_ms = now;
	progress->shown = true;
	if (total)
		fprintf(stderr, "\rioprobe: %s: %3d %% ", progress->what, done >= total ? 100 : (int)(100.0 * done / total));
	else
		fprintf(stderr, "\rioprobe: %s: %lld s ", progress->what, (long long)took / 1000);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fprintf(stderr, "\r%*s\r", (int)strlen(progress->what) + 24, "");
	progress->shown = false;
}
