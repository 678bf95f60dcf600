/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A store's content as if it were followed: one pass over each table, in the order of intervals. Several intervals are one where
 * there are more than are wanted.
 */
#include "stream/store_read.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define STORE_VERSION 5

enum table { CALLS, SIZES, CLASSES, OPERATIONS, INTERVALS, TABLES };

/* ?1: so many intervals are one. */
static const char *const table_text[TABLES] = {
	[CALLS] = "SELECT interval/?1 AS g, process, layer, sum(calls), sum(failed), sum(time_ns), sum(system_time_ns), "
		  "max(longest_call_ns), "
		  "max(open_calls) FROM calls GROUP BY g, process, layer ORDER BY g",
	[SIZES] = "SELECT interval/?1 AS g, process, layer, up_to, sum(reads), sum(writes) FROM sizes GROUP BY g, process, layer, "
		  "up_to ORDER BY g",
	[CLASSES] = "SELECT interval/?1 AS g, process, layer, class, sum(calls), sum(failed), sum(time_ns), max(longest_call_ns) "
		    "FROM class_calls "
		    "GROUP BY g, process, layer, class ORDER BY g",
	[OPERATIONS] =
		"SELECT interval/?1 AS g, process, layer, file, sum(reads), sum(writes), sum(bytes_read), sum(bytes_written), "
		"sum(reads_of_known_size), sum(writes_of_known_size), sum(reads_of_unknown_size), sum(writes_of_unknown_size), "
		"sum(reads_failed), sum(writes_failed), sum(opens), sum(time_ns), sum(metadata_time_ns), max(longest_call_ns) "
		"FROM operations GROUP BY g, process, layer, file ORDER BY g",
	[INTERVALS] =
		"SELECT interval/?1 AS g, min(begin_ns), max(end_ns), max(open_calls), sum(records_lost), max(lag_ns), max(last) "
		"FROM "
		"(SELECT interval, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns, sum(open_calls) AS open_calls, "
		"sum(records_lost) AS records_lost, max(lag_ns) AS lag_ns, max(last) AS last FROM interval GROUP BY interval) "
		"GROUP BY g ORDER BY g",
};

struct reader {
	sqlite3 *db;
	sqlite3_stmt *tables[TABLES], *process, *file;
	bool more[TABLES]; /* the statement has a row */
	struct live_output **outputs;
	size_t noutputs;
	struct live_interval now;
	const char *name;
	char *err;
	size_t err_len;
};

static int store_read_fail(const struct reader *r)
{
	snprintf(r->err, r->err_len, "%s: cannot read the store: %s", r->name, sqlite3_errmsg(r->db));
	return -EIO;
}

static int store_read_prepare(struct reader *r, const char *sql, sqlite3_stmt **statement)
{
	return sqlite3_prepare_v2(r->db, sql, -1, statement, NULL) == SQLITE_OK ? 0 : store_read_fail(r);
}

/* The next row of a table. */
static int store_read_step(struct reader *r, enum table table)
{
	int code = sqlite3_step(r->tables[table]);

	r->more[table] = code == SQLITE_ROW;
	return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : store_read_fail(r);
}

static uint64_t store_read_number(sqlite3_stmt *row, int column)
{
	return sqlite3_column_int64(row, column);
}

static const char *store_read_text(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

/* ---- definitions; strings are valid until the statement is reused ---- */

static struct live_process store_read_process_of(struct reader *r, uint64_t id)
{
	struct live_process p = { .id = id, .rank = -1, .uid = -1 };

	sqlite3_reset(r->process);
	sqlite3_bind_int64(r->process, 1, id);
	if (sqlite3_step(r->process) != SQLITE_ROW)
		return p;
	p.pid = store_read_number(r->process, 0);
	p.rank = sqlite3_column_type(r->process, 1) == SQLITE_NULL ? -1 : sqlite3_column_int64(r->process, 1);
	p.name = store_read_text(r->process, 2);
	return p;
}

static struct live_file store_read_file_of(struct reader *r, uint64_t id)
{
	struct live_file f = { .id = id };

	sqlite3_reset(r->file);
	sqlite3_bind_int64(r->file, 1, id);
	if (sqlite3_step(r->file) != SQLITE_ROW)
		return f;
	f.path = store_read_text(r->file, 0);
	f.mount_point = store_read_text(r->file, 1);
	f.special = store_read_number(r->file, 2);
	return f;
}

/* ---- an interval ---- */

static int store_read_report_calls(struct reader *r, const struct summary_calls *added, uint64_t process, const char *layer)
{
	struct live_process p = store_read_process_of(r, process);
	int ret = 0;

	for (size_t i = 0; i < r->noutputs && !ret; i++)
		if (r->outputs[i]->calls)
			ret = r->outputs[i]->calls(r->outputs[i], &r->now, &(struct live_calls){ r->now.number, &p, layer, added });
	return ret;
}

static int store_read_read_calls(struct reader *r)
{
	sqlite3_stmt *row = r->tables[CALLS];
	int ret = 0;

	while (!ret && r->more[CALLS] && store_read_number(row, 0) == r->now.number) {
		struct summary_calls added = { .calls = store_read_number(row, 3),
					       .failed = store_read_number(row, 4),
					       .time_ns = store_read_number(row, 5),
					       .system_ns = store_read_number(row, 6),
					       .longest_ns = store_read_number(row, 7),
					       .open_calls = store_read_number(row, 8) };

		ret = store_read_report_calls(r, &added, store_read_number(row, 1), store_read_text(row, 2));
		if (!ret)
			ret = store_read_step(r, CALLS);
	}
	return ret;
}

static int read_sizes(struct reader *r)
{
	sqlite3_stmt *row = r->tables[SIZES];
	int ret = 0;

	while (!ret && r->more[SIZES] && store_read_number(row, 0) == r->now.number) {
		struct summary_calls added = { 0 };
		unsigned class = sqlite3_column_type(row, 3) == SQLITE_NULL ? SUMMARY_SIZES - 1
									    : summary_size_class(store_read_number(row, 3));

		added.sizes.read[class] = store_read_number(row, 4);
		added.sizes.written[class] = store_read_number(row, 5);
		ret = store_read_report_calls(r, &added, store_read_number(row, 1), store_read_text(row, 2));
		if (!ret)
			ret = store_read_step(r, SIZES);
	}
	return ret;
}

static struct summary_class *store_read_class_of(struct summary_calls *calls, const char *name)
{
	for (int i = 0; i < MODEL_CLASSES; i++)
		if (name && !strcmp(name, summary_class_name(i)))
			return &calls->classes[i];
	return &calls->classes[MODEL_CLASS_OTHER];
}

static int store_read_read_classes(struct reader *r)
{
	sqlite3_stmt *row = r->tables[CLASSES];
	int ret = 0;

	while (!ret && r->more[CLASSES] && store_read_number(row, 0) == r->now.number) {
		struct summary_calls added = { 0 };

		*store_read_class_of(&added, store_read_text(row, 3)) =
			(struct summary_class){ store_read_number(row, 4), store_read_number(row, 5), store_read_number(row, 6),
						store_read_number(row, 7) };
		ret = store_read_report_calls(r, &added, store_read_number(row, 1), store_read_text(row, 2));
		if (!ret)
			ret = store_read_step(r, CLASSES);
	}
	return ret;
}

static int read_operations(struct reader *r)
{
	sqlite3_stmt *row = r->tables[OPERATIONS];
	int ret = 0;

	while (!ret && r->more[OPERATIONS] && store_read_number(row, 0) == r->now.number) {
		struct live_process p = store_read_process_of(r, store_read_number(row, 1));
		struct live_file f = store_read_file_of(r, store_read_number(row, 3));
		struct summary_operations added = { .longest_ns = store_read_number(row, 4 + SUMMARY_NCOUNTS) };
		struct live_operations operations = { r->now.number, &p, &f, store_read_text(row, 2), &added };

		for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
			((uint64_t *)&added.counts)[i] = store_read_number(row, 4 + i);
		for (size_t i = 0; i < r->noutputs && !ret; i++)
			if (r->outputs[i]->operations)
				ret = r->outputs[i]->operations(r->outputs[i], &r->now, &operations);
		if (!ret)
			ret = store_read_step(r, OPERATIONS);
	}
	return ret;
}

static int read_interval(struct reader *r)
{
	sqlite3_stmt *row = r->tables[INTERVALS];
	int ret;

	r->now = (struct live_interval){ .number = store_read_number(row, 0),
					 .begin_ns = store_read_number(row, 1),
					 .end_ns = store_read_number(row, 2),
					 .open_calls = store_read_number(row, 3),
					 .records_lost = store_read_number(row, 4),
					 .lag_ns = store_read_number(row, 5),
					 .last = store_read_number(row, 6) };
	ret = store_read_read_calls(r);
	if (!ret)
		ret = read_sizes(r);
	if (!ret)
		ret = store_read_read_classes(r);
	if (!ret)
		ret = read_operations(r);
	for (size_t i = 0; i < r->noutputs && !ret; i++)
		if (r->outputs[i]->interval)
			ret = r->outputs[i]->interval(r->outputs[i], &r->now);
	return ret ? ret : store_read_step(r, INTERVALS);
}

/* ---- the store ---- */

/* How many intervals are one, so that there are at most so many. */
static int choose_step(struct reader *r, size_t most, uint64_t *together)
{
	sqlite3_stmt *row;
	uint64_t span;
	int ret = store_read_prepare(r, "SELECT max(interval) - min(interval) + 1 FROM interval", &row);

	if (ret)
		return ret;
	span = sqlite3_step(row) == SQLITE_ROW ? store_read_number(row, 0) : 0;
	sqlite3_finalize(row);
	*together = span > most ? (span + most - 1) / (most > 1 ? most - 1 : 1) : 1;
	return 0;
}

static int read_job(struct reader *r, sqlite3_stmt *row, uint64_t together)
{
	struct live_job job = { store_read_text(row, 0),
				store_read_text(row, 1),
				store_read_text(row, 2),
				store_read_text(row, 3),
				store_read_text(row, 4),
				store_read_number(row, 5),
				store_read_number(row, 6) * together,
				0 };
	int ret = 0;

	for (size_t i = 0; i < r->noutputs && !ret; i++)
		if (r->outputs[i]->begin)
			ret = r->outputs[i]->begin(r->outputs[i], &job);
	return ret;
}

static int store_read_read_end(struct reader *r, sqlite3_stmt *row)
{
	struct live_end end = { store_read_number(row, 8), store_read_number(row, 9), store_read_number(row, 10),
				store_read_number(row, 7), store_read_text(row, 11) };
	int ret = 0;

	for (size_t i = 0; i < r->noutputs && !ret; i++)
		if (r->outputs[i]->end)
			ret = r->outputs[i]->end(r->outputs[i], &end);
	return ret;
}

static int store_read_read_tables(struct reader *r, uint64_t together)
{
	int ret = 0;

	for (int i = 0; i < TABLES && !ret; i++) {
		ret = store_read_prepare(r, table_text[i], &r->tables[i]);
		if (!ret) {
			sqlite3_bind_int64(r->tables[i], 1, together);
			ret = store_read_step(r, i);
		}
	}
	while (!ret && r->more[INTERVALS])
		ret = read_interval(r);
	return ret;
}

static int read_store(struct reader *r, size_t most)
{
	sqlite3_stmt *row = NULL;
	uint64_t together = 1;
	int ret = choose_step(r, most, &together);

	if (!ret)
		ret = store_read_prepare(r, "SELECT pid, rank, name FROM process WHERE process = ?", &r->process);
	if (!ret)
		ret = store_read_prepare(r, "SELECT path, mount_point, special FROM file WHERE file = ?", &r->file);
	if (!ret)
		ret = store_read_prepare(
			r,
			"SELECT CASE count(*) WHEN 1 THEN max(host) ELSE count(*) || ' nodes' END, max(kernel), max(version), "
			"max(batch_job), max(command_line), min(begin_ns), max(interval_ns), max(end_ns), min(coalesce(complete, "
			"0)), "
			"sum(records_lost), sum(records_after_bound), max(stopped_by) FROM job",
			&row);
	if (!ret && (sqlite3_step(row) != SQLITE_ROW || sqlite3_column_type(row, 5) == SQLITE_NULL)) {
		snprintf(r->err, r->err_len, "%s: the store is empty: its recording had not begun", r->name);
		ret = -ENODATA;
	}
	if (!ret)
		ret = read_job(r, row, together);
	if (!ret)
		ret = store_read_read_tables(r, together);
	if (!ret)
		ret = store_read_read_end(r, row);
	sqlite3_finalize(row);
	return ret;
}

static int store_read_check_version(struct reader *r)
{
	sqlite3_stmt *row;
	int ret = store_read_prepare(r, "PRAGMA user_version", &row), version;

	if (ret)
		return ret;
	version = sqlite3_step(row) == SQLITE_ROW ? (int)store_read_number(row, 0) : 0;
	sqlite3_finalize(row);
	if (version == STORE_VERSION)
		return 0;
	snprintf(r->err, r->err_len, "%s: it is not a store of this version of ioprobe", r->name);
	return -EINVAL;
}

int store_read(const char *file, const char *name, size_t most, struct live_output **outputs, size_t noutputs, char *err,
	       size_t err_len)
{
	struct reader r = { .outputs = outputs, .noutputs = noutputs, .name = name, .err = err, .err_len = err_len };
	int ret = sqlite3_open_v2(file, &r.db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK ? 0 : store_read_fail(&r);

	if (!ret)
		ret = store_read_check_version(&r);
	if (!ret)
		ret = read_store(&r, most);
	if (ret && !err[0])
		snprintf(err, err_len, "%s: %s", name, strerror(-ret));
	for (int i = 0; i < TABLES; i++)
		sqlite3_finalize(r.tables[i]);
	sqlite3_finalize(r.process);
	sqlite3_finalize(r.file);
	sqlite3_close(r.db);
	return ret;
}
