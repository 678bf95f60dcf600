/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of libaio and io_uring: from records to the chain begin, issued, complete or cancelled, on whichever thread that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

#define CONTEXT 0x7000
#define RING 0xffff8000

static int setup(void **state)
{
	sb_setup(state);
	sb_fd(&sb, 100, 5, 3, "/f", O_RDWR, IOP_F_SCAN);
	return 0;
}

static void begins(uint8_t interface, uint32_t tid, uint64_t time, uint64_t key, uint8_t op, int fd, uint64_t bytes, int64_t offset)
{
	sb_async(&sb, tid, time,
		 &(struct iop_rec_async){ .interface = interface,
					  .context = interface == IOP_LIBAIO ? CONTEXT : RING,
					  .key = key,
					  .user_data = key + 1,
					  .op = op,
					  .fd = fd,
					  .bytes = bytes,
					  .offset = offset });
}

static void ends(uint8_t interface, uint32_t tid, uint64_t time, uint64_t key, int64_t res)
{
	sb_async_end(&sb, tid, time, &(struct iop_rec_async_end){ .interface = interface, .key = key, .res = res,
		     .context = interface == IOP_LIBAIO ? CONTEXT : RING }, true);
}

static void submit_enters(uint32_t tid, uint64_t time)
{
	sb_enter(&sb, tid, "io_submit", time, time, 0, ARGS(ARG(ITEMS, 3)));
}

static void submit_leaves(uint32_t tid, uint64_t enter, uint64_t leave, int64_t ret)
{
	sb_exit(&sb, tid, "io_submit", enter, leave, 0, ret, NO_ARGS);
}

/* Three handed over, two accepted; reaped by another thread. */
static void libaio_chain(void **state)
{
	(void)state;
	submit_enters(100, 10);
	begins(IOP_LIBAIO, 100, 10, 0xa0, IOP_ASYNC_WRITE, 3, 100, 0);
	begins(IOP_LIBAIO, 100, 10, 0xb0, IOP_ASYNC_READ, 3, 50, 4096);
	begins(IOP_LIBAIO, 100, 10, 0xc0, IOP_ASYNC_WRITE, 3, 7, 0);
	submit_leaves(100, 10, 20, 2);
	sb_enter(&sb, 101, "io_getevents", 15, 30, 0, NO_ARGS);
	ends(IOP_LIBAIO, 101, 30, 0xb0, 20);
	ends(IOP_LIBAIO, 101, 30, 0xa0, -EFBIG);
	sb_exit(&sb, 101, "io_getevents", 15, 30, 0, 2, NO_ARGS);
	expect("100 @10 enter io_submit\n100 @10 begin h0 m1 f1 100 at 0 #1\n100 @10 begin h0 m0 f1 50 at 4096 #2\n"
	       "100 @20 issued h0 #1\n100 @20 issued h0 #2\n100 @20 leave io_submit\n"
	       "101 @15 enter io_getevents\n101 @30 complete h0 20 #2\n101 @30 complete h0 ? #1 error 27\n101 @30 leave "
	       "io_getevents\n");
	assert_int_equal(sb.model.nnotes, 0);
}

/* The second one is reaped before its io_submit has returned: it and what stood before it were accepted. */
static void reaped_before_submit_returns(void **state)
{
	(void)state;
	submit_enters(100, 10);
	begins(IOP_LIBAIO, 100, 10, 0xa0, IOP_ASYNC_WRITE, 3, 1, 0);
	begins(IOP_LIBAIO, 100, 10, 0xb0, IOP_ASYNC_WRITE, 3, 2, 1);
	begins(IOP_LIBAIO, 100, 10, 0xc0, IOP_ASYNC_WRITE, 3, 3, 3);
	sb_enter(&sb, 101, "io_getevents", 5, 15, 0, NO_ARGS);
	ends(IOP_LIBAIO, 101, 15, 0xb0, 2);
	sb_exit(&sb, 101, "io_getevents", 5, 15, 0, 1, NO_ARGS);
	submit_leaves(100, 10, 20, 3);
	expect("100 @10 enter io_submit\n101 @5 enter io_getevents\n"
	       "100 @10 begin h0 m1 f1 1 at 0 #1\n100 @10 begin h0 m1 f1 2 at 1 #2\n100 @10 issued h0 #1\n100 @10 issued h0 #2\n"
	       "101 @15 complete h0 2 #2\n101 @15 leave io_getevents\n"
	       "100 @10 begin h0 m1 f1 3 at 3 #3\n100 @20 issued h0 #3\n100 @20 leave io_submit\n");
	assert_true(noted("2 asynchronous operations were under way at the end"));
}

static void nothing_accepted(void **state)
{
	(void)state;
	submit_enters(100, 10);
	begins(IOP_LIBAIO, 100, 10, 0xa0, IOP_ASYNC_WRITE, 3, 1, 0);
	submit_leaves(100, 10, 20, -EBADF);
	ends(IOP_LIBAIO, 100, 30, 0xa0, 1);     /* of an earlier use of the same place, before the recording */
	expect("100 @10 enter io_submit\n100 @20 leave io_submit failed 9\n");
	assert_true(noted("1 asynchronous operations ended that began before the recording"));
}

/* The same addresses in two processes are two operations; an operation whose address is reused ended unobserved. */
static void names(void **state)
{
	(void)state;
	sb_fd(&sb, 200, 6, 3, "/g", O_RDWR, IOP_F_SCAN);
	for (int i = 0; i < 2; i++) {
		submit_enters(100, 10 + 10 * i);
		begins(IOP_LIBAIO, 100, 10 + 10 * i, 0xa0, IOP_ASYNC_WRITE, 3, 1, 0);
		submit_leaves(100, 10 + 10 * i, 15 + 10 * i, 1);
	}
	submit_enters(200, 30);
	begins(IOP_LIBAIO, 200, 30, 0xa0, IOP_ASYNC_WRITE, 3, 2, 0);
	submit_leaves(200, 30, 35, 1);
	ends(IOP_LIBAIO, 100, 40, 0xa0, 1);
	ends(IOP_LIBAIO, 200, 41, 0xa0, 2);
	expect("100 @10 enter io_submit\n100 @10 begin h0 m1 f1 1 at 0 #1\n100 @15 issued h0 #1\n100 @15 leave io_submit\n"
	       "100 @20 enter io_submit\n100 @20 begin h0 m1 f1 1 at 0 #2\n100 @25 issued h0 #2\n100 @25 leave io_submit\n"
	       "200 @30 enter io_submit\n200 @30 begin h1 m1 f1 2 at 0 #3\n200 @35 issued h1 #3\n200 @35 leave io_submit\n"
	       "100 @40 complete h0 1 #2\n200 @41 complete h1 2 #3\n");
	assert_true(noted("1 asynchronous operations ended unseen"));
}

/* One io_submit's ENTER is lost, then another's EXIT: what they handed over is not taken for the next one's. */
static void losses(void **state)
{
	(void)state;
	sb.seq[100]++;
	begins(IOP_LIBAIO, 100, 10, 0xa0, IOP_ASYNC_WRITE, 3, 1, 0);
	submit_leaves(100, 10, 15, 1);
	submit_enters(100, 20);
	begins(IOP_LIBAIO, 100, 20, 0xb0, IOP_ASYNC_WRITE, 3, 2, 0);
	sb.seq[100]++;
	submit_enters(100, 30);
	begins(IOP_LIBAIO, 100, 30, 0xc0, IOP_ASYNC_WRITE, 3, 3, 0);
	submit_leaves(100, 30, 35, 1);
	ends(IOP_LIBAIO, 100, 40, 0xc0, 3);
	expect("100 @20 enter io_submit\n100 @30 leave io_submit abandoned\n"
	       "100 @30 enter io_submit\n100 @30 begin h0 m1 f1 3 at 0 #1\n100 @35 issued h0 #1\n100 @35 leave io_submit\n"
	       "100 @40 complete h0 3 #1\n");
	assert_int_equal(sb.model.totals.lost_records, 2);
}

/* Submissions during io_uring_enter, and by the kernel's polling thread, which makes no call. */
static void uring_chain(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "io_uring_enter", 10, 11, 0, NO_ARGS);
	begins(IOP_URING, 100, 11, 0xa0, IOP_ASYNC_READ, 3, 10, -1);
	sb_exit(&sb, 100, "io_uring_enter", 10, 12, 0, 1, NO_ARGS);
	begins(IOP_URING, 150, 20, 0xb0, IOP_ASYNC_SYNC, 3, -1, 0);
	ends(IOP_URING, 101, 30, 0xa0, -ECANCELED);
	ends(IOP_URING, 150, 31, 0xb0, 0);
	expect("100 @10 enter io_uring_enter\n100 @11 begin h0 m0 f1 10 #1\n100 @11 issued h0 #1\n100 @12 leave io_uring_enter\n"
	       "150 @20 enter io_uring_sqpoll\n150 @20 begin h0 m2 f1 ? #2\n150 @20 issued h0 #2\n150 @20 leave io_uring_sqpoll\n"
	       "101 @30 cancelled h0 #1\n150 @31 complete h0 ? #2\n");
}

/* An end without the request's address is found by its user data; parts are added up. */
static void uring_parts(void **state)
{
	struct iop_rec_async_end part = { .interface = IOP_URING, .context = RING, .user_data = 0xa1, .res = 5, .more = 1 };

	(void)state;
	begins(IOP_URING, 100, 20, 0xa0, IOP_ASYNC_READ, 3, -1, -1);
	sb_async_end(&sb, 100, 21, &part, true);
	sb_async_end(&sb, 100, 22, &part, true);
	part.more = 0;
	part.user_data = 0xff;          /* of what is not recorded */
	sb_async_end(&sb, 100, 23, &part, true);
	ends(IOP_URING, 100, 24, 0xa0, -ENOBUFS);
	expect("100 @20 enter io_uring_sqpoll\n100 @20 begin h0 m0 f1 ? #1\n100 @20 issued h0 #1\n100 @20 leave io_uring_sqpoll\n"
	       "100 @24 complete h0 10 #1\n");
	assert_int_equal(sb.model.nnotes, 0);
}

/* In a worker of the kernel, after the submitter's end; on an unknown descriptor; operations that are only counted. */
static void uring_elsewhere(void **state)
{
	struct iop_rec_async_end end = { .interface = IOP_URING, .context = RING, .key = 0xa0, .res = 3 };

	(void)state;
	begins(IOP_URING, 101, 20, 0xa0, IOP_ASYNC_WRITE, 3, 3, 0);
	begins(IOP_URING, 101, 21, 0xb0, IOP_ASYNC_WRITE, 999, 3, 0);
	begins(IOP_URING, 101, 22, 0xc0, IOP_ASYNC_OTHER, -1, -1, 0);
	sb_task_exit(&sb, 101, 30, false);
	sb_async_end(&sb, 101, 40, &end, false);
	end.key = 0xd0;                 /* of a process that is not recorded */
	sb_async_end(&sb, 900, 41, &end, false);
	expect("101 @20 enter io_uring_sqpoll\n101 @20 begin h0 m1 f1 3 at 0 #1\n101 @20 issued h0 #1\n101 @20 leave "
	       "io_uring_sqpoll\n"
	       "101 @21 enter io_uring_sqpoll\n101 @21 leave io_uring_sqpoll\n"
	       "101 @40 complete h0 3 #1\n");
	assert_true(noted("1 asynchronous operations were on unknown descriptors"));
	assert_true(noted("1 asynchronous operations are counted only"));
}

static void uring_opens_and_closes(void **state)
{
	(void)state;
	begins(IOP_URING, 100, 20, 0xa0, IOP_ASYNC_OPEN, -1, -1, -1);
	sb_fd(&sb, 100, 25, 7, "/new", O_WRONLY, 0);
	ends(IOP_URING, 100, 25, 0xa0, 7);
	begins(IOP_URING, 100, 30, 0xa0, IOP_ASYNC_CLOSE, 7, -1, -1);
	ends(IOP_URING, 100, 35, 0xa0, 0);
	begins(IOP_URING, 100, 40, 0xa0, IOP_ASYNC_OPEN, -1, -1, -1);
	ends(IOP_URING, 100, 45, 0xa0, -ENOENT);
	expect("100 @20 enter io_uring_sqpoll\n100 @20 leave io_uring_sqpoll\n"
	       "100 @25 enter io_uring_complete\n100 @25 create h1 m1 c0 s0\n100 @25 leave io_uring_complete\n"
	       "100 @30 enter io_uring_sqpoll\n100 @30 leave io_uring_sqpoll\n"
	       "100 @35 enter io_uring_complete\n100 @35 destroy h1\n100 @35 leave io_uring_complete\n"
	       "100 @40 enter io_uring_sqpoll\n100 @40 leave io_uring_sqpoll\n");
	assert_string_equal(sb.model.files.v[sb.model.handles.v[1].file].path, "/new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(libaio_chain, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(reaped_before_submit_returns, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(nothing_accepted, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(names, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(losses, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(uring_chain, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(uring_parts, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(uring_elsewhere, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(uring_opens_and_closes, setup, sb_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
