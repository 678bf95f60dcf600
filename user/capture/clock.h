/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State of this node's clocks, needed to put archives of several nodes on one time line.
 */
#ifndef IOPROBE_CLOCK_H
#define IOPROBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/notes.h"

/* CLOCK_REALTIME and CLOCK_MONOTONIC at one moment: realtime was read within width_ns around monotonic_ns. The kernel's view of the
 * wall clock's synchronisation (adjtimex(2), set by ntpd, chronyd or PTP): the estimated error and its upper bound. */
struct clock_reading {
	uint64_t monotonic_ns, realtime_ns, width_ns;
	bool known;                     /* the kernel answered; the following members are valid */
	bool synchronized;
	uint64_t error_ns, max_error_ns;
};

void clock_read(struct clock_reading *reading);
/* Adds the lines of a HOST or END record: monotonic_ns, realtime_ns, clock_width_ns, clock_synchronized, clock_error_ns,
 * clock_max_error_ns. */
void clock_note(struct note *note, const struct clock_reading *reading);

struct spool_writer;

/* Notices when the wall clock is set: by a program, a leap second, or after a suspend. CLOCK_MONOTONIC is slewed like
 * CLOCK_REALTIME, so the difference of the two changes only then. */
struct clock_watch {
	int fd;                         /* readable when the clock was set; -1: none */
	uint64_t checked_ns;            /* CLOCK_MONOTONIC; the clock had not been set until then */
};

/* Returns 0 or -errno. To be opened before the recording's first reading of the clocks. */
int clock_watch_open(struct clock_watch *watch);
/* Writes a CLOCK record if the clock was set since the last call. */
void clock_watch_step(struct clock_watch *watch, struct spool_writer *spool);
void clock_watch_close(struct clock_watch *watch);

#endif
