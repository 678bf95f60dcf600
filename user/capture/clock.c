/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the wall clock between two readings of the monotonic clock; of several attempts the one with the shortest interval is used.
 */
#include "capture/clock.h"

#include <sys/timex.h>
#include <time.h>

#define TRIES 16

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void read_pair(struct clock_reading *reading)
{
	reading->width_ns = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = now_ns(CLOCK_MONOTONIC), real = now_ns(CLOCK_REALTIME), after = now_ns(CLOCK_MONOTONIC);

		if (after - before >= reading->width_ns)
			continue;
		reading->width_ns = after - before;
		reading->monotonic_ns = before + (after - before) / 2;
		reading->realtime_ns = real;
	}
}

void clock_read(struct clock_reading *reading)
{
	struct timex t = { .modes = 0 };

	*reading = (struct clock_reading){ 0 };
	read_pair(reading);
	if (adjtimex(&t) < 0)           /* a seccomp filter may forbid it */
		return;
	reading->known = true;
	reading->synchronized = !(t.status & STA_UNSYNC);
	reading->error_ns = t.esterror * 1000ull;
	reading->max_error_ns = t.maxerror * 1000ull;
}

void clock_note(struct note *note, const struct clock_reading *reading)
{
	note_addf(note, "monotonic_ns", "%llu", (unsigned long long)reading->monotonic_ns);
	note_addf(note, "realtime_ns", "%llu", (unsigned long long)reading->realtime_ns);
	note_addf(note, "clock_width_ns", "%llu", (unsigned long long)reading->width_ns);
	if (!reading->known)
		return;
	note_addf(note, "clock_synchronized", "%d", reading->synchronized);
	note_addf(note, "clock_error_ns", "%llu", (unsigned long long)reading->error_ns);
	note_addf(note, "clock_max_error_ns", "%llu", (unsigned long long)reading->max_error_ns);
}
