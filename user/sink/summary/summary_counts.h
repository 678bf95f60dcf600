/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What is counted of operations on a handle, a file, a variable.
 */
#ifndef IOPROBE_SINK_SUMMARY_COUNTS_H
#define IOPROBE_SINK_SUMMARY_COUNTS_H

#include <stdint.h>

struct summary_counts {
	uint64_t reads, writes; /* operations begun */
	uint64_t bytes_read, bytes_written; /* moved, where known */
	uint64_t known_reads, known_writes; /* operations whose bytes are known */
	uint64_t unknown_reads,
		unknown_writes; /* operations that moved an unknown number of bytes, or whose end was not recorded */
	uint64_t failed_reads, failed_writes; /* operations that failed or were cancelled: with the two above, all that began */
	uint64_t opens; /* handles made */
	uint64_t time_ns; /* calls on handles, inclusive, outermost of the layer */
	uint64_t metadata_ns; /* of that, in calls that move no data (open, close, seek, …) */
};

#define SUMMARY_NCOUNTS (sizeof(struct summary_counts) / sizeof(uint64_t)) /* it is nothing but numbers that add up */

#endif
