/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Gaps of threads that waited for probes and gave up, as the recorder notes them: notices may come in another order than the
 * events, and after the process has executed another program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/targets_internal.h"
#include "spool/spool.h"

#define PID 4711
#define BEGUN 1000              /* the program */
#define PLACED 5000             /* its probes */

static char dir[32], path[64];
static struct table_set set;
static struct plan_layer layer;
static struct library library;
static struct process_library entry = { .library = &library };
static struct process_library *entries[] = { &entry };
static struct target target;
static struct targets targets;

static int begin(void **state)
{
	char err[256];

	(void)state;
	strcpy(dir, "/tmp/ioprobe-targets-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/spool", dir);
	assert_int_equal(table_parse_builtin(&set, err, sizeof(err)), 0);
	for (size_t i = 0; i < set.nlayers; i++)
		if (!strcmp(set.layers[i].name, "HDF5"))
			layer.layer = i;
	library.plan.layers = &layer;
	library.plan.nlayers = 1;
	library.points[POINTS_DIRECT].n = 1;
	target = (struct target){ .pid = PID, .program_ns = BEGUN, .direct_ns = PLACED, .links = { .v = entries, .n = 1 } };
	targets = (struct targets){ .set = &set };
	assert_int_equal(spool_writer_create(&targets.spool, path), 0);
	HASH_ADD_INT(targets.all, pid, (&target));
	return 0;
}

static int end(void **state)
{
	(void)state;
	HASH_CLEAR(hh, targets.all);
	table_set_deinit(&set);
	unlink(path);
	return rmdir(dir);
}

/* Each as "FROM-TO", in order. */
static void expect_gaps(const char *expected)
{
	struct spool_reader *reader;
	const struct iop_rec *rec;
	char got[256] = "";
	size_t len;

	assert_int_equal(spool_writer_destroy(targets.spool), 0);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	while (spool_reader_next(reader, &rec, &len) == 1)
		if (rec->type == IOP_REC_GAP)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%llu-%llu ",
				 (unsigned long long)text_number_or_zero((const void *)rec, "from_ns"),
				 (unsigned long long)text_number_or_zero((const void *)rec, "to_ns"));
	spool_reader_destroy(reader);
	assert_string_equal(got, expected);
}

static void earlier_thread_is_reported_later(void **state)
{
	(void)state;
	targets_waited_in_vain(&targets, PID, 2000, 4000);
	targets_waited_in_vain(&targets, PID, 2100, 3000);
	targets_waited_in_vain(&targets, PID, 2200, 3500);      /* within the gap that is noted */
	targets_waited_in_vain(&targets, PID, 2300, 5500);      /* with probes */
	expect_gaps("4000-5000 3000-4000 ");
}

static void wait_of_the_program_before(void **state)
{
	(void)state;
	targets_waited_in_vain(&targets, PID, BEGUN - 1, 3000);
	expect_gaps("");
}

/* A release says that the process did not run before: not that of the program before. */
static void release_of_the_program_before(void **state)
{
	(void)state;
	target_add_gaps(&targets, &target.unsettled, PID, &library, (struct gap){ NULL, "late", 2000, 3000 });
	targets_released(&targets, PID, BEGUN - 1, 0);
	assert_int_equal(target.unsettled.n, 1);
	assert_false(target.ran);
	targets_released(&targets, PID, 2000, 2500);
	assert_true(target.ran);
	expect_gaps("2500-3000 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(earlier_thread_is_reported_later), TEST(wait_of_the_program_before), TEST(release_of_the_program_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
