/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State of a process that uses functions whose probes are placed on demand; shared by the BPF programs and the agent.
 */
#ifndef IOPROBE_DEMAND_H
#define IOPROBE_DEMAND_H

#include <ioprobe/record.h>

struct iop_demand {
	/* since when the probes are in place: only requests made after that are tracked; 0: probes requested, not yet in place */
	__u64 since_ns;
	__s64 outstanding;      /* requests without an observed wait or test */
	__u64 idle;             /* probed calls that had no tracked request */
	__u64 missed;           /* requests that were made but could not be tracked */
};

#endif
