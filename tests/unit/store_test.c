/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A store that is removed or replaced while it is written: its follower must not go on as if the intervals were kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/outputs.h"

static char dir[] = "/tmp/store_test.XXXXXX", file[64];

static struct live_output *begin_store(void)
{
	const struct live_job job = { .host = "n1", .begin_ns = 1, .interval_ns = 1000000000 };
	struct live_output *output;
	char text[80], err[256];

	snprintf(file, sizeof(file), "%s/live.db", dir);
	snprintf(text, sizeof(text), "sqlite:%s", file);
	assert_int_equal(live_output_create(&output, text, err, sizeof(err)), 0);
	assert_int_equal(output->begin(output, &job), 0);
	assert_int_equal(output->interval(output, &(struct live_interval){ .number = 1 }), 0);
	return output;
}

static void expect_stale(struct live_output *output)
{
	assert_int_equal(output->interval(output, &(struct live_interval){ .number = 2 }), -ESTALE);
	assert_non_null(strstr(output->err, "live.db: the store was removed or replaced while it was written"));
	output->destroy(output);
}

static void remove_store(void)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char name[80];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", file, ends[i]);
		unlink(name);
	}
}

static void removed(void **state)
{
	struct live_output *output = begin_store();

	(void)state;
	remove_store();
	expect_stale(output);
}

static void replaced(void **state)
{
	struct live_output *output = begin_store();
	char other[80];
	FILE *new;

	(void)state;
	snprintf(other, sizeof(other), "%s/other", dir);
	new = fopen(other, "w");
	assert_non_null(new);
	fclose(new);
	assert_int_equal(rename(other, file), 0);
	expect_stale(output);
	remove_store();
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(removed), cmocka_unit_test(replaced) };

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
