/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How long an output that delivers to another host keeps trying: as long as the recording runs, for the spool has what is not
 * delivered; then for a grace period.
 */
#ifndef IOPROBE_STREAM_GRACE_H
#define IOPROBE_STREAM_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/live.h"

#define GRACE_VARIABLE "IOPROBE_STREAM_GRACE_S" /* seconds; 60 without it */

struct grace {
	uint64_t length_ns;
	uint64_t over_ns; /* CLOCK_MONOTONIC: when the recording was seen to be over; 0: not yet */
};

void grace_init(struct grace *grace);
/* ended: the recording's last line was passed to the output. */
bool grace_is_up(struct grace *grace, const struct live_output *output, bool ended);

#endif
