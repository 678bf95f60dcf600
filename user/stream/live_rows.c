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
	rows->pool.size = sizeof(*row);
	if (row || !(row = pool_take(&rows->pool)))
		return row;
	row->key = *key;
	HASH_ADD(hh, rows->operations, key, sizeof(row->key), row);
	if (hash_added(row))
		return row;
	pool_give_back(&rows->pool, row);
	return NULL;
}

void live_rows_clear(struct live_rows *rows)
{
	struct live_calls_row *calls = rows->calls, *next_calls;
	struct live_operations_row *operations = rows->operations, *next_operations;

	HASH_CLEAR(hh, rows->calls); /* the rows stay linked */
	HASH_CLEAR(hh, rows->operations);
	for (; calls; calls = next_calls) {
		next_calls = calls->hh.next;
		free(calls);
	}
	for (; operations; operations = next_operations) {
		next_operations = operations->hh.next;
		pool_give_back(&rows->pool, operations);
	}
}

void live_rows_deinit(struct live_rows *rows)
{
	live_rows_clear(rows);
	pool_deinit(&rows->pool);
}
