/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two hash tables.
 */
#include "stream/live_rows.h"

#include <stdlib.h>

struct live_calls_row *live_rows_calls(struct live_rows *rows, const struct live_calls_key *key)
{
	struct live_calls_row *row;

	HASH_FIND(hh, rows->calls, key, sizeof(*key), row);
	if (row || !(row = calloc(1, sizeof(*row))))
		return row;
	row->key = *key;
	HASH_ADD(hh, rows->calls, key, sizeof(row->key), row);
	if (hash_added(row))
		return row;
	free(row);
	return NULL;
}

struct live_operations_row *live_rows_operations(struct live_rows *rows, const struct live_operations_key *key)
{
	struct live_operations_row *row;

	HASH_FIND(hh, rows->operations, key, sizeof(*key), row);
	if (row || !(row = calloc(1, sizeof(*row))))
		return row;
	row->key = *key;
	HASH_ADD(hh, rows->operations, key, sizeof(row->key), row);
	if (hash_added(row))
		return row;
	free(row);
	return NULL;
}

void live_rows_clear(struct live_rows *rows)
{
	struct live_calls_row *calls, *next_calls;
	struct live_operations_row *operations, *next_operations;

	HASH_ITER(hh, rows->calls, calls, next_calls) {
		HASH_DEL(rows->calls, calls);
		free(calls);
	}
	HASH_ITER(hh, rows->operations, operations, next_operations) {
		HASH_DEL(rows->operations, operations);
		free(operations);
	}
}
