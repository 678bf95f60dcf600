/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Non-blocking operations from their begin to their end, by small spools and the exact events that must come of them.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

#define STATES(...) (struct iop_request_state[]){ __VA_ARGS__ }
#define DONE(request, issued, bytes) { request, issued, bytes, IOP_REQUEST_DONE | IOP_REQUEST_STATUS, 0 }
#define PENDING(request, issued) { request, issued, 0, 0, 0 }

static int setup(void **state)
{
	sb_setup(state);
	sb_text(&sb, IOP_REC_LIBRARY, 100, 2, "layer=MPI-IO\npath=/lib/libmpi.so\nparallel=1\nabi=1\n", NULL);
	return 0;
}

static void iwrite(uint32_t tid, uint64_t enter, uint64_t leave, uint64_t request)
{
	sb_call(&sb, tid, "MPI_File_iwrite", enter, leave, 0, 0,
		ARGS(ARG(HANDLE, 0x900), ARG(COUNT, 4), ARG(DATATYPE, 2), ARG(REQUEST, request)));
}

#define IWRITE(tid, enter, leave, id) \
	tid " @" enter " enter MPI_File_iwrite\n" tid " @" enter " begin h0 m1 f1 8 " id "\n" \
	tid " @" leave " issued h0 " id "\n" tid " @" leave " leave MPI_File_iwrite\n"

/* ---- MPI ---- */

static void ends_in_another_thread(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	sb_requests(&sb, 101, "MPI_Test", 20, 21, STATES(PENDING(0x5000, 11)), 1, 0);
	sb_call(&sb, 101, "MPI_Test", 20, 21, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_requests(&sb, 101, "MPI_Wait", 30, 31, STATES(DONE(0x5000, 11, 77)), 1, 0);
	sb_call(&sb, 101, "MPI_Wait", 30, 31, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	expect(IWRITE("100", "10", "11", "#1")
	       "101 @20 enter MPI_Test\n101 @21 test h0 #1\n101 @21 leave MPI_Test\n"
	       "101 @30 enter MPI_Wait\n101 @31 complete h0 77 #1\n101 @31 leave MPI_Wait\n");
	assert_false(noted("open"));
}

/* A crash or an exception inside of the call that begins an operation, and one that fails after it has made system calls. */
static void never_issued(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "MPI_File_iwrite_at_all", 10, 11, 0,
		 ARGS(ARG(HANDLE, 0x900), ARG(OFFSET, 0), ARG(COUNT, 4), ARG(DATATYPE, 2), ARG(REQUEST, 0)));
	sb_abandoned(&sb, 100, "MPI_File_iwrite_at_all", 10, 20, 0);
	sb_enter(&sb, 100, "MPI_File_iwrite_at_all", 30, 31, 0,
		 ARGS(ARG(HANDLE, 0x900), ARG(OFFSET, 0), ARG(COUNT, 4), ARG(DATATYPE, 2), ARG(REQUEST, 0)));
	sb_exit(&sb, 100, "MPI_File_iwrite_at_all", 30, 32, 0, 13, NO_ARGS);
	expect("100 @10 enter MPI_File_iwrite_at_all\n100 @10 begin h0 m1 f3 8 at 0 #1\n100 @20 leave MPI_File_iwrite_at_all "
	       "abandoned\n"
	       "100 @30 enter MPI_File_iwrite_at_all\n100 @30 begin h0 m1 f3 8 at 0 #2\n100 @32 issued h0 #2\n100 @32 cancelled h0 "
	       "#2\n"
	       "100 @32 leave MPI_File_iwrite_at_all failed 13\n");
	assert_true(noted("1 non-blocking operations are open: the call that began them did not return"));
}

/* The library gives the request's memory to a new operation before the wait for the old one has returned. */
static void value_used_again_at_once(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	iwrite(101, 25, 26, 0x5000);
	sb_requests(&sb, 100, "MPI_Wait", 20, 30, STATES(DONE(0x5000, 11, 1)), 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 20, 30, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_requests(&sb, 101, "MPI_Wait", 40, 41, STATES(DONE(0x5000, 26, 2)), 1, 0);
	sb_call(&sb, 101, "MPI_Wait", 40, 41, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	expect(IWRITE("100", "10", "11", "#1") IWRITE("101", "25", "26", "#2")
	       "100 @20 enter MPI_Wait\n100 @30 complete h0 1 #1\n100 @30 leave MPI_Wait\n"
	       "101 @40 enter MPI_Wait\n101 @41 complete h0 2 #2\n101 @41 leave MPI_Wait\n");
}

static void arrays(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	iwrite(100, 12, 13, 0x5100);
	iwrite(100, 14, 15, 0x5200);
	sb_requests(&sb, 100, "MPI_Waitsome", 20, 21, STATES(DONE(0x5000, 11, 5), PENDING(0x5100, 13)), 2, 0);
	sb_requests(&sb, 100, "MPI_Waitsome", 20, 21, STATES(DONE(0x5200, 15, 6)), 1, 0); /* a further record of the same call */
	sb_call(&sb, 100, "MPI_Waitsome", 20, 21, 0, 0, ARGS(ARG(COUNT, 9)));
	sb_requests(&sb, 100, "MPI_Waitall", 30, 31, STATES(DONE(0x5100, 13, 7)), 1, 88);
	sb_call(&sb, 100, "MPI_Waitall", 30, 31, 0, 0, ARGS(ARG(COUNT, 600)));
	expect(IWRITE("100", "10", "11", "#1") IWRITE("100", "12", "13", "#2") IWRITE("100", "14", "15", "#3")
	       "100 @20 enter MPI_Waitsome\n100 @21 complete h0 5 #1\n100 @21 test h0 #2\n100 @21 complete h0 6 #3\n"
	       "100 @21 leave MPI_Waitsome\n"
	       "100 @30 enter MPI_Waitall\n100 @31 complete h0 7 #2\n100 @31 leave MPI_Waitall\n");
	assert_true(noted("88 requests beyond the first 512 of an array"));
}

/* Without a status nothing is known of the bytes; what _cancelled holds counts only after MPI_Cancel. */
static void statuses(void **state)
{
	struct iop_request_state ignored = { 0x5000, 11, 0, IOP_REQUEST_DONE, 0 };
	struct iop_request_state garbage = { 0x5100, 13, 8, IOP_REQUEST_DONE | IOP_REQUEST_STATUS, 1 };
	struct iop_request_state cancelled = { 0x5200, 15, 0, IOP_REQUEST_DONE | IOP_REQUEST_STATUS, 1 };

	(void)state;
	iwrite(100, 10, 11, 0x5000);
	iwrite(100, 12, 13, 0x5100);
	iwrite(100, 14, 15, 0x5200);
	sb_requests(&sb, 100, "MPI_Wait", 20, 21, &ignored, 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 20, 21, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_requests(&sb, 100, "MPI_Wait", 22, 23, &garbage, 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 22, 23, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_requests(&sb, 100, "MPI_Cancel", 24, 25, STATES(PENDING(0x5200, 15)), 1, 0);
	sb_call(&sb, 100, "MPI_Cancel", 24, 25, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_requests(&sb, 100, "MPI_Wait", 26, 27, &cancelled, 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 26, 27, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	expect(IWRITE("100", "10", "11", "#1") IWRITE("100", "12", "13", "#2") IWRITE("100", "14", "15", "#3")
	       "100 @20 enter MPI_Wait\n100 @21 complete h0 ? #1\n100 @21 leave MPI_Wait\n"
	       "100 @22 enter MPI_Wait\n100 @23 complete h0 8 #2\n100 @23 leave MPI_Wait\n"
	       "100 @24 enter MPI_Cancel\n100 @25 leave MPI_Cancel\n"
	       "100 @26 enter MPI_Wait\n100 @27 cancelled h0 #3\n100 @27 leave MPI_Wait\n");
	assert_int_equal(sb.model.totals.unknown_sizes, 1);
}

static void never_waited_for(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	iwrite(100, 12, 13, 0x5100);
	sb_requests(&sb, 100, "MPI_Request_free", 20, 21, STATES(DONE(0x5000, 11, 0)), 1, 0);
	sb_call(&sb, 100, "MPI_Request_free", 20, 21, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_call(&sb, 100, "MPI_Wait", 30, 31, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));      /* its list was lost */
	expect(IWRITE("100", "10", "11", "#1") IWRITE("100", "12", "13", "#2")
	       "100 @20 enter MPI_Request_free\n100 @21 leave MPI_Request_free\n"
	       "100 @30 enter MPI_Wait\n100 @31 leave MPI_Wait\n");
	assert_true(noted("1 non-blocking operations are open: no wait or test on them was observed"));
	assert_true(noted("1 non-blocking operations are open: their requests were freed"));
}

/* A list that belongs to another call than the one that follows says nothing of it. */
static void stale_list(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	sb_requests(&sb, 100, "MPI_Wait", 20, 21, STATES(DONE(0x5000, 11, 5)), 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 30, 31, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	expect(IWRITE("100", "10", "11", "#1") "100 @30 enter MPI_Wait\n100 @31 leave MPI_Wait\n");
	assert_true(noted("1 non-blocking operations are open"));
}

/* Another program has other requests. */
static void not_after_exec(void **state)
{
	(void)state;
	iwrite(100, 10, 11, 0x5000);
	sb_exec(&sb, 100, 15, 100, "/bin/other");
	sb_requests(&sb, 100, "MPI_Wait", 20, 21, STATES(DONE(0x5000, 11, 5)), 1, 0);
	sb_call(&sb, 100, "MPI_Wait", 20, 21, 0, 0, ARGS(ARG(REQUESTS, 0x7000)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_null(strstr(sb.events, "complete"));
	assert_true(noted("1 non-blocking operations are open"));
}

/* ---- event sets ---- */

static void async_write(uint64_t enter, uint64_t set)
{
	sb_call(&sb, 100, "H5Dwrite_async", enter, enter + 1, 0, 0, ARGS(ARG(HANDLE, 77), ARG(REQUEST, set)));
}

static void wait_for_set(uint64_t enter, uint64_t set, int64_t under_way)
{
	sb_call(&sb, 100, "H5ESwait", enter, enter + 1, 0, 0, ARGS(ARG(REQUEST, set), ARG(COUNT, under_way)));
}

/* Several operations share a set; while some are under way it is unknown which. Set 0 means: not asynchronous. */
static void event_sets(void **state)
{
	(void)state;
	async_write(10, 5);
	async_write(12, 5);
	async_write(14, 6);
	async_write(16, 0);
	wait_for_set(20, 5, 1);
	wait_for_set(30, 5, 0);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, "100 @16 begin h0 m1 f0 ? #4\n100 @17 complete h0 ? #4\n"));
	assert_non_null(strstr(sb.events, "100 @20 enter H5ESwait\n100 @21 leave H5ESwait\n"));
	assert_non_null(strstr(
		sb.events, "100 @30 enter H5ESwait\n100 @31 complete h0 ? #1\n100 @31 complete h0 ? #2\n100 @31 leave H5ESwait\n"));
	assert_true(noted("1 non-blocking operations are open: no wait or test on them was observed"));
}

/* ---- PnetCDF: a file's requests, by its number, which begins at 0 ---- */

static void of_file(const char *function, uint64_t enter, int64_t ret, int64_t count)
{
	sb_call(&sb, 100, function, enter, enter + 1, 0, ret, ARGS(ARG(HANDLE, 0), ARG(COUNT, count), ARG(REQUESTS, 0)));
}

static void posted(const char *function, uint64_t enter, int64_t request)
{
	sb_call(&sb, 100, function, enter, enter + 1, 0, 0, ARGS(ARG(HANDLE, 0), ARG(VARIABLE, 0), ARG(REQUEST, request)));
}

static void all_of_a_file(void **state)
{
	(void)state;
	sb_call(&sb, 100, "ncmpi_create", 5, 6, 0, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	posted("ncmpi_iput_var1_int", 10, 0);
	posted("ncmpi_iget_var1_int", 12, 1);
	posted("ncmpi_iput_var1_int", 14, 2);
	of_file("ncmpi_cancel", 16, 0, -2);             /* NC_GET_REQ_ALL */
	of_file("ncmpi_cancel", 18, -202, -1);
	of_file("ncmpi_wait", 20, -202, -1);
	of_file("ncmpi_wait_all", 22, 0, -1);           /* NC_REQ_ALL */
	sb_call(&sb, 100, "ncmpi_sync", 24, 25, 0, 0, ARGS(ARG(HANDLE, 0)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, "100 @17 cancelled h0 #2\n100 @17 leave ncmpi_cancel\n"));
	assert_non_null(strstr(sb.events, "100 @18 enter ncmpi_cancel\n100 @19 leave ncmpi_cancel"));
	assert_non_null(strstr(sb.events, "100 @20 enter ncmpi_wait\n100 @21 leave ncmpi_wait"));
	assert_non_null(strstr(sb.events, "100 @23 complete h0 4 #1\n100 @23 complete h0 4 #3\n"));
	assert_non_null(strstr(sb.events, "100 @24 enter ncmpi_sync\n100 @24 begin h0 m2"));
}

/* NULL in place of the request's address: only the wait for all of the file ends the operation. */
static void posted_without_request(void **state)
{
	(void)state;
	sb_call(&sb, 100, "ncmpi_create", 5, 6, 0, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	for (int i = 0; i < 2; i++)
		sb_call(&sb, 100, i ? "ncmpi_iget_var1_int" : "ncmpi_iput_var1_int", 10 + 2 * i, 11 + 2 * i, 0, 0,
			ARGS(ARG(HANDLE, 0), ARG(VARIABLE, 0), UNREADABLE(REQUEST)));
	posted("ncmpi_iput_var1_int", 14, 0);
	of_file("ncmpi_wait_all", 20, 0, -3);           /* NC_PUT_REQ_ALL */
	of_file("ncmpi_wait_all", 22, 0, -1);           /* NC_REQ_ALL */
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, "100 @20 enter ncmpi_wait_all\n100 @21 complete h0 4 #1\n100 @21 complete h0 4 #3\n"));
	assert_non_null(strstr(sb.events, "100 @22 enter ncmpi_wait_all\n100 @23 complete h0 4 #2\n"));
	assert_false(noted("open"));
}

/* ---- POSIX aio ---- */

static void aio(uint32_t tid, const char *function, uint64_t enter, int64_t ret, uint64_t block)
{
	sb_call(&sb, tid, function, enter, enter + 1, 0, ret, ARGS(ARG(REQUEST, block)));
}

static void aio_read_at(uint64_t enter, int64_t ret, uint64_t block, int64_t offset)
{
	sb_call(&sb, 100, "aio_read", enter, enter + 1, 0, ret,
		ARGS(ARG(REQUEST, block), ARG(HANDLE, 3), ARG(BYTES, 50), ARG(OFFSET, offset)));
}

static void aio_to_its_result(void **state)
{
	(void)state;
	sb_open(&sb, 100, 5, 6, 0, 3, "/f", O_RDONLY);
	aio_read_at(10, 0, 0x7000, 4096);
	aio(100, "aio_error", 20, EINPROGRESS, 0x7000);
	aio(100, "aio_error", 30, 0, 0x7000);
	aio(101, "aio_return", 40, 33, 0x7000);
	aio_read_at(50, -1, 0x7000, 0);
	sb_call(&sb, 100, "close", 60, 61, 0, 0, ARGS(ARG(HANDLE, 3)));
	expect("100 @5 enter openat\n100 @6 create h0 m0 c0 s0\n100 @6 leave openat\n"
	       "100 @10 enter aio_read\n100 @10 begin h1 m0 f1 50 at 4096 #1\n100 @11 issued h1 #1\n"
	       "100 @11 leave aio_read\n"
	       "100 @20 enter aio_error\n100 @21 test h1 #1\n100 @21 leave aio_error\n"
	       "100 @30 enter aio_error\n100 @31 leave aio_error\n"
	       "101 @40 enter aio_return\n101 @41 complete h1 33 #1\n101 @41 leave aio_return\n"
	       "100 @50 enter aio_read\n100 @51 leave aio_read failed 0\n"
	       "100 @60 enter close\n100 @61 destroy h0\n100 @61 leave close\n");
	assert_string_equal(sb.model.paradigms.v[sb.model.handles.v[1].paradigm].identification, "AIO");
	assert_string_equal(sb.model.files.v[sb.model.handles.v[1].file].path, "/f");
}

static void aio_cancelled_and_failed(void **state)
{
	(void)state;
	sb_open(&sb, 100, 5, 6, 0, 3, "/f", O_RDONLY);
	aio_read_at(10, 0, 0x7000, 0);
	aio_read_at(12, 0, 0x7100, 0);
	aio_read_at(14, 0, 0x7200, 0);
	sb_call(&sb, 100, "aio_cancel", 20, 21, 0, AIO_CANCELED, ARGS(ARG(HANDLE, 3), ARG(REQUEST, 0x7000)));
	aio(100, "aio_return", 22, -1, 0x7000);
	sb_call(&sb, 100, "aio_cancel", 24, 25, 0, AIO_NOTCANCELED, ARGS(ARG(HANDLE, 3), ARG(REQUEST, 0)));
	aio(100, "aio_error", 26, ECANCELED, 0x7100);
	aio(100, "aio_error", 28, EIO, 0x7200);
	aio(100, "aio_return", 30, -1, 0x7200);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, "100 @21 cancelled h1 #1\n100 @21 leave aio_cancel\n100 @22 enter aio_return\n"
					  "100 @23 leave aio_return failed 0\n"));
	assert_non_null(strstr(sb.events, "100 @27 cancelled h1 #2\n"));
	assert_non_null(strstr(sb.events, "100 @29 leave aio_error\n100 @30 enter aio_return\n100 @31 complete h1 ? #3\n"));
	assert_int_equal(sb.model.totals.unknown_sizes, 0);
}

static void lists(void **state)
{
	const struct iop_submitted list[] = {
		{ 0x7000, 0, 10, 3, LIO_WRITE }, { 0x7100, 0, 0, 0, LIO_NOP }, { 0x7200, 10, 20, 3, LIO_READ },
	};

	(void)state;
	sb_open(&sb, 100, 5, 6, 0, 3, "/f", O_RDWR);
	sb_submitted(&sb, 100, "lio_listio", 10, 11, list, 3);
	sb_call(&sb, 100, "lio_listio", 10, 11, 0, 0, ARGS(ARG(CMD, LIO_NOWAIT), ARG(REQUESTS, 0x8000), ARG(COUNT, 3)));
	aio(100, "aio_return", 20, 20, 0x7200);
	aio(100, "aio_return", 22, 10, 0x7000);
	sb_submitted(&sb, 100, "lio_listio", 30, 31, list, 3);
	sb_call(&sb, 100, "lio_listio", 30, 31, 0, -1, ARGS(ARG(CMD, LIO_NOWAIT), ARG(REQUESTS, 0x8000), ARG(COUNT, 3)));
	expect("100 @5 enter openat\n100 @6 create h0 m2 c0 s0\n100 @6 leave openat\n"
	       "100 @10 enter lio_listio\n100 @10 begin h1 m1 f1 10 at 0 #1\n100 @10 begin h1 m0 f1 20 at 10 #2\n"
	       "100 @11 issued h1 #1\n100 @11 issued h1 #2\n100 @11 leave lio_listio\n"
	       "100 @20 enter aio_return\n100 @21 complete h1 20 #2\n100 @21 leave aio_return\n"
	       "100 @22 enter aio_return\n100 @23 complete h1 10 #1\n100 @23 leave aio_return\n"
	       "100 @30 enter lio_listio\n100 @31 leave lio_listio failed 0\n");
	assert_true(noted("2 operations of refused lists are not recorded"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_in_another_thread),
		TEST(never_issued),
		TEST(value_used_again_at_once),
		TEST(arrays),
		TEST(statuses),
		TEST(never_waited_for),
		TEST(stale_list),
		TEST(not_after_exec),
		TEST(event_sets),
		TEST(all_of_a_file),
		TEST(posted_without_request),
		TEST(aio_to_its_result),
		TEST(aio_cancelled_and_failed),
		TEST(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
