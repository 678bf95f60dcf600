/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the kernel side and the agent know together of a process that uses functions whose probes are placed on demand.
 */
#ifndef IOPROBE_DEMAND_H
#define IOPROBE_DEMAND_H

#include <ioprobe/record.h>

struct iop_demand {
	__u64 since_ns;         /* the probes are in place, and requests that were made since then count; 0: they are wanted */
	__s64 outstanding;      /* requests that nobody has waited for */
	__u64 idle;             /* calls that were probed for nothing */
	__u64 missed;           /* requests that were made and could not be followed */
};

#endif
