/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Steps of the wall clock during a recording: times are mapped piecewise, intervals stay of one length and in order, nothing is
 * counted twice. The wall clock is 101 s + CLOCK_MONOTONIC, is set 60 s back between 1.4 s and 1.5 s, and 3600 s forward between
 * 2.9 s and 3.1 s.
 */
#include "replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink/summary/summary.h"
#include "stream/live.h"
#include "stream/outputs.h"

#define S 1000000000ull
#define MS 1000000ull

static void write_call(uint64_t enter_ns, uint64_t leave_ns)
{
	sb_call(&sb, 100, "write", enter_ns, leave_ns, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
	sb_round(&sb, leave_ns + 1);
}

static void clock_set(uint64_t since_ns, uint64_t monotonic_ns, int64_t realtime_ns)
{
	char text[256];

	snprintf(text, sizeof(text), "since_ns=%llu\nmonotonic_ns=%llu\nrealtime_ns=%lld\nclock_width_ns=30\n",
		 (unsigned long long)since_ns, (unsigned long long)monotonic_ns, (long long)realtime_ns);
	sb_text(&sb, IOP_REC_CLOCK, 0, monotonic_ns, text, NULL);
}

static void record_steps(void)
{
	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=n1\nrealtime_ns=101000000000\nmonotonic_ns=0\n", NULL);
	sb_open(&sb, 100, 100 * MS, 110 * MS, 0, 1, "/data/f", 1);
	write_call(200 * MS, 300 * MS);
	write_call(1300 * MS, 1600 * MS);               /* over the first step, of which the recorder learns at 1.5 s */
	clock_set(1400 * MS, 1500 * MS, 42500 * MS);
	write_call(2200 * MS, 2300 * MS);
	clock_set(2900 * MS, 3100 * MS, 3644100 * MS);
	write_call(4200 * MS, 4300 * MS);
	sb_text(&sb, IOP_REC_END, 0, 4400 * MS,
		"reason=test\nend_ns=4400000000\nrealtime_ns=3645400000000\nmonotonic_ns=4400000000\n", NULL);
}

static void steps_of_the_model(void **state)
{
	(void)state;
	record_steps();
	replay();
	assert_int_equal(sb.model.clock_steps.n, 2);
	assert_int_equal(sb.model.clock_steps.v[0].step_ns, -60ll * (int64_t)S);
	assert_int_equal(sb.model.clock_steps.v[0].since_ns, 1400 * MS);
	assert_int_equal(sb.model.clock_steps.v[0].at.width_ns, 30);
	assert_int_equal(sb.model.clock_steps.v[1].step_ns, 3600 * S);
	assert_int_equal(model_realtime_ns(&sb.model, 0), 101 * S);
	assert_int_equal(model_realtime_ns(&sb.model, 1500 * MS - 1), 102500 * MS - 1);
	assert_int_equal(model_realtime_ns(&sb.model, 1500 * MS), 42500 * MS);
	assert_int_equal(model_realtime_ns(&sb.model, 3100 * MS - 1), 44100 * MS - 1);
	assert_int_equal(model_realtime_ns(&sb.model, 3100 * MS), 3644100 * MS);
	assert_int_equal(sb.model.realtime_at_begin_ns, 101 * S + 100 * MS);
	assert_true(noted("the wall clock was set 2 times during the recording, by +3540.000000 s in all"));
}

/* Without a reading of the clocks at the begin nothing is known of a step's size. */
static void nothing_to_compare_with(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=n1\n", NULL);
	write_call(200 * MS, 300 * MS);
	clock_set(1400 * MS, 1500 * MS, 42500 * MS);
	sb_text(&sb, IOP_REC_CLOCK, 0, 1600 * MS, "since_ns=1\n", NULL);
	replay();
	assert_int_equal(sb.model.clock_steps.n, 0);
}

static void follow(const char *output, enum live_events events)
{
	const struct live_options options = { .interval_ns = S, .events = events };
	struct live_output *outputs[1];
	struct spool_reader *reader;
	struct sink *sink;
	struct model model;
	char err[512] = "";

	assert_int_equal(live_output_create(&outputs[0], output, err, sizeof(err)), 0);
	assert_int_equal(live_sink_create(&sink, outputs, 1, &options), 0);
	assert_int_equal(spool_reader_open(&reader, sb.path), 0);
	assert_int_equal(replay_run(reader, &model, &sink, 1, err, sizeof(err)), 0);
	assert_int_equal(outputs[0]->failed, 0);
	live_sink_destroy(sink);
	spool_reader_destroy(reader);
	model_deinit(&model);
	outputs[0]->destroy(outputs[0]);
}

/* The first column of all rows, with a blank behind each. */
static void expect_rows(const char *file, const char *sql, const char *expected)
{
	char rows[1024] = "";
	sqlite3_stmt *statement;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW)
		snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s ", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	assert_string_equal(rows, expected);
}

static void intervals_of_a_store(void **state)
{
	char file[128], output[160];

	(void)state;
	record_steps();
	replay();
	snprintf(file, sizeof(file), "%.*s/live.db", (int)(strrchr(sb.path, '/') - sb.path), sb.path);
	snprintf(output, sizeof(output), "sqlite:%s", file);
	follow(output, LIVE_EVENTS_ALL);
	expect_rows(file, "SELECT interval FROM interval ORDER BY rowid", "101 102 103 104 105 ");
	expect_rows(file, "SELECT begin_ns / 1000000 FROM interval ORDER BY rowid", "101000 102000 43000 44000 3645000 ");
	expect_rows(file, "SELECT end_ns - begin_ns FROM interval GROUP BY 1", "1000000000 ");
	expect_rows(file,
		    "SELECT printf('%d/%d/%d/%d', interval, time_ns / 1000000, step_ns / 1000000, uncertain_ns / 1000000) "
		    "FROM clock_step",
		    "102/42500/-60000/100 104/3644100/3600000/200 ");
	expect_rows(file,
		    "SELECT printf('%d+%d', time_ns / 1000000, duration_ns / 1000000) FROM event WHERE call = 'write' "
		    "ORDER BY rowid",
		    "101300+100 42600+300 43300+100 3645300+100 ");
	expect_rows(file, "SELECT printf('%d:%d:%d', interval, sum(calls), sum(time_ns) / 1000000) FROM calls GROUP BY interval",
		    "101:2:110 102:1:300 103:1:100 105:1:100 ");
	expect_rows(file, "SELECT end_ns / 1000000 FROM job", "3645400 ");
	/* a second follower adds nothing */
	follow(output, LIVE_EVENTS_ALL);
	expect_rows(file, "SELECT count(*) FROM clock_step", "2 ");
	expect_rows(file, "SELECT count(*) FROM interval", "5 ");
	unlink(file);
	strcat(file, "-wal");
	unlink(file);
	strcpy(strrchr(file, '-'), "-shm");
	unlink(file);
}

static void summary_lists_steps(void **state)
{
	static const char expected[] =
		"[{\"step_ns\":-60000000000,\"since_ns\":1300000000,\"until_ns\":1400000000,\"realtime_ns\":42500000000},"
		"{\"step_ns\":3600000000000,\"since_ns\":2800000000,\"until_ns\":3000000000,\"realtime_ns\":3644100000000}]";
	char *text = NULL, *steps;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct sink *sink;
	json_t *root;

	(void)state;
	record_steps();
	replay();
	assert_int_equal(summary_sink_create(&sink, out, true), 0);
	assert_int_equal(sink->finish(sink, &sb.model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	root = json_loads(text, 0, NULL);
	steps = json_dumps(json_object_get(root, "clock_steps"), JSON_COMPACT | JSON_PRESERVE_ORDER);
	assert_string_equal(steps, expected);
	free(steps);
	json_decref(root);
	free(text);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, sb_setup, sb_teardown)
	const struct CMUnitTest tests[] = { TEST(steps_of_the_model), TEST(nothing_to_compare_with), TEST(intervals_of_a_store),
					    TEST(summary_lists_steps) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
