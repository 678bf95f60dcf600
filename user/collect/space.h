/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The room that the stores of a collector may take on disk.
 */
#ifndef IOPROBE_COLLECT_SPACE_H
#define IOPROBE_COLLECT_SPACE_H

#include <stddef.h>
#include <stdint.h>

struct collect_space {
	const char *directory;
	uint64_t most, most_job;        /* bytes of all stores, of one; 0: no limit */
	uint64_t used;                  /* by all stores, when they were last counted, and bytes of lines since then */
};

/* Counts the files of the directory, if there is a limit. */
void collect_space_count(struct collect_space *space);

enum space_answer { SPACE_FREE, SPACE_FULL, SPACE_JOB_FULL };

/* Whether bytes more lines may be written to the store file. If not, reason says why and what to do. */
enum space_answer collect_space_ask(const struct collect_space *space, const char *file, uint64_t bytes, char *reason, size_t len);

#endif
