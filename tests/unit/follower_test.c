/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a follower reports is its user's word: numbers that cannot be true are cut to what can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "stream/follower.h"
#include "stream/live.h"

#define SECOND 1000000000ull

/* Of a follower that has lived for 10 s and has three outputs. */
static struct live_report reported(const struct live_report *written)
{
	struct follower follower = { .pid = getpid(), .report = memfd_create("report", 0), .noutputs = 3 };
	struct live_report report = { 0 };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	follower.begin_ns = now.tv_sec * SECOND + now.tv_nsec - 10 * SECOND;
	assert_true(follower.report >= 0);
	assert_int_equal(pwrite(follower.report, written, sizeof(*written), 0), sizeof(*written));
	assert_true(follower_report(&follower, &report));
	close(follower.report);
	return report;
}

static void possible_numbers_are_taken(void **state)
{
	const struct live_report written = { .intervals = 9, .lag_ns = 9 * SECOND / 2, .missed = 3 };
	struct live_report report = reported(&written);

	(void)state;
	assert_memory_equal(&report, &written, sizeof(report));
}

static void impossible_numbers_are_cut(void **state)
{
	const struct live_report written = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct live_report report = reported(&written);

	(void)state;
	/* intervals have 100 ms at least; the machine may have needed some time until now */
	assert_in_range(report.intervals, 100, 10000);
	assert_in_range(report.missed, 300, 30000);
	assert_in_range(report.lag_ns, 1000 * SECOND, 10000000 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(possible_numbers_are_taken), cmocka_unit_test(impossible_numbers_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
