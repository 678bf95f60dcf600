/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The grace period begins when an output that waits asks whether the recording is over.
 */
#include "stream/grace.h"

#include <stdlib.h>
#include <time.h>

#define GRACE_S 60

static uint64_t grace_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void grace_init(struct grace *grace)
{
	const char *text = getenv(GRACE_VARIABLE);

	*grace = (struct grace){ .length_ns = (text ? strtoull(text, NULL, 10) : GRACE_S) * 1000000000ull };
}

bool grace_is_up(struct grace *grace, const struct live_output *output, bool ended)
{
	if (!grace->over_ns && (ended || (output->recording_over && output->recording_over(output->over_arg))))
		grace->over_ns = grace_now_ns();
	return grace->over_ns && grace_now_ns() - grace->over_ns >= grace->length_ns;
}
