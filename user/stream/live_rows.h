/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The rows of an interval while they are added up: handles of one file share a row, and time that belongs to earlier intervals gets
 * rows of its own.
 */
#ifndef IOPROBE_STREAM_LIVE_ROWS_H
#define IOPROBE_STREAM_LIVE_ROWS_H

#include "sink/summary/summary.h"
#include "util/hash.h"
#include "util/pool.h"

struct live_calls_key {
	uint64_t interval;
	const char *layer; /* the model's string: compared as a pointer */
	uint64_t process;
};
struct live_calls_row {
	struct live_calls_key key;
	struct summary_calls added;
	UT_hash_handle hh;
};

struct live_operations_key {
	uint64_t interval;
	uint32_t process, file, paradigm, unused;
};
struct live_operations_row {
	struct live_operations_key key;
	struct summary_operations added;
	UT_hash_handle hh;
};

/* In the order of their creation. */
struct live_rows {
	struct live_calls_row *calls;
	struct live_operations_row *operations;
	struct pool pool; /* of the latter */
};

/* Returns NULL if out of memory. */
struct live_calls_row *live_rows_calls(struct live_rows *rows, const struct live_calls_key *key);
struct live_operations_row *live_rows_operations(struct live_rows *rows, const struct live_operations_key *key);
void live_rows_clear(struct live_rows *rows);
void live_rows_deinit(struct live_rows *rows);

#endif
