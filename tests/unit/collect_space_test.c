/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Limits of the collector's stores: what is refused, how often, and that nothing stored is lost by it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "collect/session.h"

static char directory[64];
static const struct token_secret secret = { .len = 32 };
static struct collect_counts counts;

static bool send_text(struct session *s, const char *text, char **answer)
{
	bool goes_on = session_take(s, text, strlen(text), answer);

	return goes_on;
}

/* A follower of a job that has sent its first lines; NULL: it was refused, *answer is the reason. */
static struct session *follower(struct collect_space *space, const char *job, char **answer)
{
	struct session *s = session_create(&secret, space, &counts);
	char token[TOKEN_ROOM], hello[TOKEN_ROOM + 100];

	assert_non_null(s);
	assert_true(token_make(token, sizeof(token), &secret, job));
	snprintf(hello, sizeof(hello), "{\"format\":\"ioprobe collect 1\",\"token\":\"%s\"}\n", token);
	if (!send_text(s, hello, answer)) {
		session_destroy(s);
		return NULL;
	}
	free(*answer);
	assert_true(send_text(s, "{\"type\":\"begin\",\"host\":null,\"kernel\":null,\"version\":null,\"batch_job\":null,"
			      "\"command_line\":null,\"time\":\"1700000000.000000000\",\"interval_ns\":1000000000,"
			      "\"recording\":7}\n", answer));
	free(*answer);
	return s;
}

/* Sends intervals until one is refused, or most are stored. Returns how many are. */
static int send_intervals(struct session *s, int first, int most, char **answer)
{
	for (int i = first; i < first + most; i++) {
		char line[400];

		snprintf(line, sizeof(line), "{\"type\":\"interval\",\"interval\":%d,\"begin\":\"%d.000000000\","
			 "\"end\":\"%d.000000000\",\"open_calls\":0,\"records_lost\":0,\"lag_ns\":0,\"last\":false}\n",
			 i, i, i + 1);
		if (!send_text(s, line, answer))
			return i - first;
		assert_non_null(strstr(*answer, "ack"));
		free(*answer);
		*answer = NULL;
	}
	return most;
}

static int stored_intervals(const char *name)
{
	sqlite3_stmt *statement;
	char path[128];
	sqlite3 *db;
	int n;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM interval", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	n = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return n;
}

static void write_file(const char *name, size_t bytes)
{
	char path[128], *zeros = calloc(1, bytes);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(zeros, 1, bytes, file), bytes);
	fclose(file);
	free(zeros);
}

static int empty_directory(void **state)
{
	char command[128];

	(void)state;
	memset(&counts, 0, sizeof(counts));
	snprintf(command, sizeof(command), "rm -rf %s/*", directory);
	return system(command);
}

static void without_limit_all_is_stored(void **state)
{
	struct collect_space space = { directory, 0, 0, 0 };
	char *answer = NULL;
	struct session *s = follower(&space, "c/1/1000", &answer);

	(void)state;
	assert_non_null(s);
	assert_int_equal(send_intervals(s, 1, 300, &answer), 300);
	session_destroy(s);
	assert_int_equal(stored_intervals("c,1,1000.db"), 300);
	assert_int_equal(counts.full, 0);
}

/* One job that has its share does not keep others out. */
static void a_jobs_store_is_limited(void **state)
{
	struct collect_space space = { directory, 0, 300 << 10, 0 };
	char *answer = NULL;
	struct session *s = follower(&space, "c/1/1000", &answer), *other;
	int sent;

	(void)state;
	assert_non_null(s);
	sent = send_intervals(s, 1, 20000, &answer);
	assert_true(sent > 0 && sent < 20000);
	assert_non_null(strstr(answer, "--max-job-size 300.00 KiB"));
	assert_non_null(strstr(answer, "\"final\":true"));
	free(answer);
	session_destroy(s);
	assert_int_equal(stored_intervals("c,1,1000.db"), sent);
	assert_int_equal(counts.full, 1);
	assert_int_equal(counts.intervals, sent);
	other = follower(&space, "c/2/1000", &answer);
	assert_non_null(other);
	assert_int_equal(send_intervals(other, 1, 10, &answer), 10);
	session_destroy(other);
}

static void all_stores_are_limited(void **state)
{
	struct collect_space space = { directory, 4000000, 0, 0 };
	char *answer = NULL, path[128];
	struct session *s;

	(void)state;
	write_file("old,1,1.db", 3000000);
	collect_space_count(&space);
	s = follower(&space, "c/1/1000", &answer);
	assert_non_null(s);
	assert_int_equal(send_intervals(s, 1, 10, &answer), 10);
	write_file("old,2,1.db", 1000000);
	collect_space_count(&space);
	assert_int_equal(send_intervals(s, 11, 10, &answer), 0);
	assert_non_null(strstr(answer, "--max-size 3.81 MiB"));
	assert_non_null(strstr(answer, "\"final\":false"));
	free(answer);
	session_destroy(s);
	assert_null(follower(&space, "c/2/1000", &answer));             /* nor is a store begun */
	assert_non_null(strstr(answer, "--max-size"));
	free(answer);
	assert_int_equal(counts.full, 2);
	snprintf(path, sizeof(path), "%s/old,1,1.db", directory);
	assert_int_equal(access(path, F_OK), 0);                        /* nothing was deleted */
	assert_int_equal(unlink(path), 0);                              /* the administrator makes room */
	collect_space_count(&space);
	s = follower(&space, "c/1/1000", &answer);
	assert_non_null(s);
	assert_int_equal(send_intervals(s, 11, 10, &answer), 10);
	session_destroy(s);
	assert_int_equal(stored_intervals("c,1,1000.db"), 20);
}

/* Between two counts, too. */
static void lines_are_counted_until_files_are(void **state)
{
	struct collect_space space = { directory, 20000, 0, 0 };
	char *answer = NULL;
	struct session *s = follower(&space, "c/1/1000", &answer);
	int sent;

	(void)state;
	assert_non_null(s);
	sent = send_intervals(s, 1, 2000, &answer);
	assert_true(sent > 0 && sent < 300);
	free(answer);
	session_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_limit_all_is_stored, empty_directory),
		cmocka_unit_test_setup(a_jobs_store_is_limited, empty_directory),
		cmocka_unit_test_setup(all_stores_are_limited, empty_directory),
		cmocka_unit_test_setup(lines_are_counted_until_files_are, empty_directory),
	};
	int failed;

	strcpy(directory, "/tmp/collect_space_test.XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	empty_directory(NULL);
	rmdir(directory);
	return failed;
}
