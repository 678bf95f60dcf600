/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Cost of a request by size in this trace: latency and bandwidth, fitted to its requests.
 */
#ifndef IOPROBE_ANALYSIS_COST_MODEL_H
#define IOPROBE_ANALYSIS_COST_MODEL_H

#include "analysis/facts.h"

struct cost_model { bool known; double latency_ns, ns_per_byte; };

void size_times_add(struct size_times *times, uint64_t bytes, uint64_t ns);

/* Returns the model of a file system and direction. Unknown if there are fewer than 30 requests, or their sizes span less than a
 * factor of 16. */
struct cost_model cost_model_fit(const struct facts *facts, unsigned fs, int dir);

#endif
