/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the wall clock between two readings of the monotonic clock; of several attempts the one with the shortest interval is used.
 * A timer that never expires is cancelled by the kernel when the wall clock is set (Linux 3.0, timerfd_create(2)).
 */
#include "capture/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "spool/spool.h"

#define TRIES 16
#define NEVER_S 0x7fffffffffll        /* the timer's time, in the year 19000: only a step of the clock makes it readable */

static uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void read_pair(struct clock_reading *reading)
{
	reading->width_ns = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_now_ns(CLOCK_MONOTONIC), real = clock_now_ns(CLOCK_REALTIME),
			 after = clock_now_ns(CLOCK_MONOTONIC);

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

int clock_watch_open(struct clock_watch *watch)
{
	const struct itimerspec never = { .it_value = { .tv_sec = NEVER_S } };
	int ret = 0;

	watch->checked_ns = clock_now_ns(CLOCK_MONOTONIC);
	watch->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->fd < 0)
		return -errno;
	if (timerfd_settime(watch->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL))
		ret = -errno;
	if (ret)
		clock_watch_close(watch);
	return ret;
}

static void note_step(struct clock_watch *watch, struct spool_writer *spool)
{
	struct note note = { 0 };
	struct clock_reading reading;

	clock_read(&reading);
	note_addf(&note, "since_ns", "%llu", (unsigned long long)watch->checked_ns);
	clock_note(&note, &reading);
	if (note.text)
		spool_writer_text(spool, IOP_REC_CLOCK, 0, reading.monotonic_ns, note.text, NULL);
	note_free(&note);
}

/* The clock is set again between the timer's reading and that of the clocks: the timer is readable again, and a further record
 * reports how the clocks stand. */
void clock_watch_step(struct clock_watch *watch, struct spool_writer *spool)
{
	uint64_t expired, now = clock_now_ns(CLOCK_MONOTONIC);

	if (watch->fd < 0)
		return;
	if (read(watch->fd, &expired, sizeof(expired)) < 0 && errno == ECANCELED)
		note_step(watch, spool);
	watch->checked_ns = now;
}

void clock_watch_close(struct clock_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}
