/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counters for the operations on a handle, a file or a variable.
 */
#ifndef IOPROBE_SINK_SUMMARY_COUNTS_H
#define IOPROBE_SINK_SUMMARY_COUNTS_H

#include <stdint.h>

#include "model/model.h"

struct summary_counts {
	uint64_t reads, writes; /* operations begun */
	uint64_t bytes_read, bytes_written; /* if known */
	uint64_t known_reads, known_writes; /* operations whose bytes are known */
	uint64_t unknown_reads,
		unknown_writes; /* operations that moved an unknown number of bytes, or whose completion was not recorded */
	/* operations that failed or were cancelled: together with the two above, all that began */
	uint64_t failed_reads, failed_writes;
	uint64_t opens; /* created handles */
	uint64_t time_ns; /* duration of calls on handles: inclusive, outermost calls of the layer only */
	uint64_t metadata_ns; /* of that, in calls that move no data (open, close, seek, …) */
};

/* Operations of known size by size: up to 100 bytes, 1 KiB, 10 KiB, 100 KiB, 1 MiB, 4 MiB, 10 MiB, 100 MiB, 1 GiB, and above, as
 * Darshan counts them. */
#define SUMMARY_SIZES 10
struct summary_sizes {
	uint64_t read[SUMMARY_SIZES], written[SUMMARY_SIZES];
};

/* The largest of a class; of the last one there is none. */
static inline uint64_t summary_size_limit(unsigned class)
{
	static const uint64_t most[SUMMARY_SIZES] = { 100,     1 << 10,  10 << 10,  100 << 10, 1 << 20,
						      4 << 20, 10 << 20, 100 << 20, 1 << 30,   UINT64_MAX };

	return most[class];
}

static inline unsigned summary_size_class(uint64_t bytes)
{
	unsigned i = 0;

	while (i < SUMMARY_SIZES - 1 && bytes > summary_size_limit(i))
		i++;
	return i;
}

#define SUMMARY_NCOUNTS (sizeof(struct summary_counts) / sizeof(uint64_t)) /* it is nothing but numbers that add up */

/* Calls of one class. time_ns: of outermost calls of the layer, each with the calls inside. */
struct summary_class {
	uint64_t calls, failed, time_ns;
	uint64_t longest_ns; /* of a call: a maximum, no sum */
};

/* On a handle or a file, calls that have ended. at: 1 + index in v, 0: there were none. */
struct summary_classes {
	struct summary_class *v;
	uint8_t n, at[MODEL_CLASSES];
};

/* "read", "write", … */
const char *summary_class_name(enum model_class class);
void summary_class_add(struct summary_class *to, const struct summary_class *from);
/* Returns NULL without memory. */
struct summary_class *summary_class_of(struct summary_classes *classes, enum model_class class);
/* Returns 0 or -ENOMEM. */
int summary_classes_add(struct summary_classes *to, const struct summary_classes *from);
void summary_classes_clear(struct summary_classes *classes);

#endif
