/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Gives the thread a real-time priority for one call on a BPF map. Without the privilege the priority is unchanged; the kernel
 * counts the runs that it skips.
 */
#include "bpf/map_calls.h"

#include <errno.h>
#include <sched.h>

int map_calls_begin(const struct programs *programs)
{
	const struct sched_param first = { .sched_priority = 1 };
	int policy;

	if (!programs->facts.syscall_events)
		return -1;
	policy = sched_getscheduler(0);
	switch (policy & ~SCHED_RESET_ON_FORK) {        /* the others have a priority, which could not be restored */
	case SCHED_OTHER:
	case SCHED_BATCH:
	case SCHED_IDLE: return sched_setscheduler(0, SCHED_FIFO | (policy & SCHED_RESET_ON_FORK), &first) ? -1 : policy;
	default: return -1;
	}
}

void map_calls_end(int policy)
{
	const struct sched_param none = { 0 };
	int saved = errno;

	if (policy >= 0)
		sched_setscheduler(0, policy, &none);
	errno = saved;
}
