/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * System calls of the threads of POSIX asynchronous I/O: which request each carries out. Thread 100 makes requests, 101 is a helper
 * thread, 102 one of the program.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static int setup(void **state)
{
	sb_setup(state);
	sb_fork(&sb, 100, 1, 102);
	sb_open(&sb, 100, 2, 3, 0, 3, "/f", O_RDWR);
	return 0;
}

static void asks(const char *function, uint64_t enter, uint64_t block, uint64_t bytes, int64_t offset)
{
	sb_enter(&sb, 100, function, enter, enter, 0,
		 ARGS(ARG(REQUEST, block), ARG(HANDLE, 3), ARG(BYTES, bytes), ARG(OFFSET, offset)));
}

static void asked(const char *function, uint64_t enter, uint64_t leave, int64_t ret)
{
	sb_exit(&sb, 100, function, enter, leave, 0, ret, NO_ARGS);
}

/* The first request of a process: the library makes its thread in the call. */
static void first_write(uint64_t block, int64_t offset)
{
	asks("aio_write", 10, block, 50, offset);
	sb_fork(&sb, 100, 11, 101);
	asked("aio_write", 10, 12, 0);
}

static void pwrites(uint32_t tid, uint64_t enter, uint64_t bytes, int64_t offset, int64_t ret)
{
	sb_call(&sb, tid, "pwrite64", enter, enter + 1, 0, ret, ARGS(ARG(HANDLE, 3), ARG(BYTES, bytes), ARG(OFFSET, offset)));
}

static void result(uint64_t enter, uint64_t block, int64_t ret)
{
	sb_call(&sb, 100, "aio_return", enter, enter + 1, 0, ret, ARGS(ARG(REQUEST, block)));
}

static bool has(const char *line)
{
	return strstr(sb.events, line);
}

/* The thread is done before aio_write has returned. */
static void before_the_call_returns(void **state)
{
	(void)state;
	asks("aio_write", 10, 0x7000, 50, 4096);
	sb_fork(&sb, 100, 11, 101);
	pwrites(101, 12, 50, 4096, 50);
	asked("aio_write", 10, 20, 0);
	result(30, 0x7000, 50);
	replay();
	assert_true(has("101 @12 enter pwrite64\n101 @12 begin h0 m1 f0 50 at 4096 #2 for #1\n101 @13 complete h0 50 #2\n101 @13 "
			"leave pwrite64\n"
			"100 @10 begin h1 m1 f1 50 at 4096 #1\n100 @20 issued h1 #1\n100 @20 leave aio_write\n"));
	assert_int_equal(sb.model.nnotes, 0);
}

/* Two requests for the same bytes are carried out in their order; a cancelled one is not waited for. */
static void same_work(void **state)
{
	(void)state;
	first_write(0x7000, 0);
	for (int i = 1; i < 4; i++) {
		asks("aio_write", 10 + 10 * i, 0x7000 + i, 50, 0);
		asked("aio_write", 10 + 10 * i, 11 + 10 * i, 0);
	}
	sb_call(&sb, 100, "aio_cancel", 50, 51, 0, AIO_CANCELED, ARGS(ARG(HANDLE, 3), ARG(REQUEST, 0x7001)));
	pwrites(101, 60, 50, 0, 50);
	pwrites(101, 62, 50, 0, 50);
	pwrites(101, 64, 50, 0, 50);
	replay();
	assert_true(has("begin h0 m1 f0 50 at 0 #5 for #1\n") && has("begin h0 m1 f0 50 at 0 #6 for #3\n") &&
		    has("begin h0 m1 f0 50 at 0 #7 for #4\n"));
	assert_false(noted("no recorded request"));
}

/* Other work, earlier work, and work that another thread or another call does. */
static void not_joined(void **state)
{
	(void)state;
	pwrites(102, 5, 50, 0, 50);
	first_write(0x7000, 0);
	pwrites(101, 20, 49, 0, 49);
	pwrites(101, 22, 50, 1, 50);
	pwrites(102, 24, 50, 0, 50);
	result(30, 0x7000, 50);
	pwrites(101, 40, 50, 0, 50);
	replay();
	assert_false(has(" for #"));
	assert_true(noted("1 requests of asynchronous I/O ended without a recorded system call of a helper thread"));
	assert_true(noted("3 operations of threads that a library of asynchronous I/O made belong to no recorded request"));
}

/* On a pipe the library tries with an offset first. */
static void repeated(void **state)
{
	(void)state;
	asks("aio_read", 10, 0x7000, 50, 0);
	sb_fork(&sb, 100, 11, 101);
	asked("aio_read", 10, 12, 0);
	sb_call(&sb, 101, "pread64", 20, 21, 0, -ESPIPE, ARGS(ARG(HANDLE, 3), ARG(BYTES, 50), ARG(OFFSET, 0)));
	sb_call(&sb, 101, "read", 22, 23, 0, 5, ARGS(ARG(HANDLE, 3), ARG(BYTES, 50)));
	result(30, 0x7000, 5);
	sb_call(&sb, 101, "read", 40, 41, 0, 5, ARGS(ARG(HANDLE, 3), ARG(BYTES, 50)));
	replay();
	assert_true(has("begin h0 m0 f0 50 at 0 #2 for #1\n") && has("@22 begin h0 m0 f0 50 #3 for #1\n") &&
		    has("@40 begin h0 m0 f0 50 #4\n"));
}

/* A flush; and threads that the first helper thread makes. */
static void flush_by_a_thread_of_the_thread(void **state)
{
	(void)state;
	first_write(0x7000, 0);
	sb_fork(&sb, 101, 20, 103);
	sb_enter(&sb, 100, "aio_fsync", 30, 30, 0, ARGS(ARG(REQUEST, 0x7100), ARG(HANDLE, 3)));
	sb_exit(&sb, 100, "aio_fsync", 30, 31, 0, 0, NO_ARGS);
	sb_call(&sb, 103, "fsync", 40, 41, 0, 0, ARGS(ARG(HANDLE, 3)));
	replay();
	assert_true(has("103 @40 begin h0 m2 f0 ? #3 for #2\n"));
}

/* Of a list that was refused, what was carried out is written. */
static void refused_list(void **state)
{
	const struct iop_submitted list[] = {
		{ 0x7000, 0, 10, 3, LIO_WRITE }, { 0x7100, 0, 0, 0, LIO_NOP }, { 0x7200, 10, 20, 3, LIO_WRITE },
	};

	(void)state;
	sb_enter(&sb, 100, "lio_listio", 10, 10, 0, ARGS(ARG(CMD, LIO_NOWAIT), ARG(REQUESTS, 0x8000), ARG(COUNT, 3)));
	sb_submitted(&sb, 100, "lio_listio", 10, 10, list, 3);
	sb_fork(&sb, 100, 11, 101);
	pwrites(101, 12, 20, 10, 20);
	sb_exit(&sb, 100, "lio_listio", 10, 20, 0, -1, NO_ARGS);
	replay();
	assert_true(has("101 @12 begin h0 m1 f0 20 at 10 #3 for #2\n"));
	assert_true(has("100 @10 begin h1 m1 f1 20 at 10 #2\n100 @20 issued h1 #2\n100 @20 leave lio_listio failed 0\n"));
	assert_false(has("#1"));
	assert_true(noted("1 operations of refused lists are not recorded"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(before_the_call_returns),         TEST(same_work),    TEST(not_joined), TEST(repeated),
		TEST(flush_by_a_thread_of_the_thread), TEST(refused_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
