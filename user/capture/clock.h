/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How this node's clocks stand: what archives of several nodes need to be put on one time line.
 */
#ifndef IOPROBE_CLOCK_H
#define IOPROBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/notes.h"

/* CLOCK_REALTIME and CLOCK_MONOTONIC at one moment: realtime was read within width_ns around monotonic_ns. What the kernel knows
 * of the wall clock's synchronisation (adjtimex(2), as ntpd, chronyd or PTP told it): its estimate of the error, and the bound
 * of it. */
struct clock_reading {
	uint64_t monotonic_ns, realtime_ns, width_ns;
	bool known;                     /* the kernel answered; what follows is valid */
	bool synchronized;
	uint64_t error_ns, max_error_ns;
};

void clock_read(struct clock_reading *reading);
/* As lines of a HOST or END record: monotonic_ns, realtime_ns, clock_width_ns, clock_synchronized, clock_error_ns,
 * clock_max_error_ns. */
void clock_note(struct note *note, const struct clock_reading *reading);

#endif
