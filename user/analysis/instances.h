/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Collective data calls: the parts of all ranks as one.
 */
#ifndef IOPROBE_ANALYSIS_INSTANCES_H
#define IOPROBE_ANALYSIS_INSTANCES_H

#include "analysis/facts.h"

struct instance_sum {
	bool of_data;
	uint64_t n, members, asked, workers, system_n, system_bytes, last_enter, last_leave, first_enter, longest_system;
};

/* The instance that begins at index i; returns the index behind it. */
size_t instance_sum(const struct facts *f, size_t i, struct instance_sum *s);

#endif
