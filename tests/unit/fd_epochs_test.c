/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls of one thread on a descriptor that another thread closes or replaces: the order of the records' times may differ from the
 * order in which the BPF programs counted calls and changes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "replay_fixture.h"

/* A call of thread 102 on descriptor 3, from `enter` to `leave`, that overlapped changes from one epoch to another. */
static void overlapping_write(uint64_t enter, uint64_t leave, uint32_t begun, uint32_t epoch, uint32_t flags)
{
	sb_epoch(&sb, 102, leave, &(struct iop_rec_fd_epoch){ .enter_ns = enter, .fd = 3, .flags = flags, .begun = begun,
							      .epoch = epoch });
	read_or_write(102, "write", enter, leave, 0, 3, 8, 8);
}

static void change(uint64_t enter, uint64_t leave, uint32_t begun, uint32_t running)
{
	sb_epoch(&sb, 101, leave, &(struct iop_rec_fd_epoch){ .enter_ns = enter, .fd = 3, .flags = IOP_EPOCH_CHANGE, .begun = begun,
							      .epoch = begun + 1, .running = running });
}

/* Thread 101 puts descriptor 4 in the place of 3. */
static void replace(uint64_t enter, uint64_t leave, uint32_t begun, uint32_t running)
{
	sb_fd(&sb, 101, leave, 3, "/b", O_WRONLY, 0);
	change(enter, leave, begun, running);
	sb_call(&sb, 101, "dup2", enter, leave, 0, 3, ARGS(ARG(HANDLE, 4), ARG(HANDLE2, 3)));
}

static void open_both(void)
{
	sb_open(&sb, 101, 10, 20, 0, 3, "/a", O_WRONLY);
	sb_open(&sb, 101, 21, 22, 0, 4, "/b", O_WRONLY);
}

#define OPENED "101 @10 enter openat\n101 @20 create h0 m1 c0 s0\n101 @20 leave openat\n" \
	       "101 @21 enter openat\n101 @22 create h1 m1 c0 s0\n101 @22 leave openat\n"
#define REPLACED "101 @50 enter dup2\n101 @50 duplicate h1 h2 s0\n"
#define WRITTEN(enter, leave, handle) "102 @" #enter " enter write\n102 @" #enter " begin " handle " m1 f0 8 #1\n" \
	"102 @" #leave " complete " handle " 8 #1\n102 @" #leave " leave write\n"

/* The last call on the old file ends its handle. */
static void ends_after_the_change(void **state)
{
	(void)state;
	open_both();
	overlapping_write(45, 70, 0, 1, 0);
	replace(50, 60, 0, 1);
	expect(OPENED REPLACED "101 @60 leave dup2\n"
	       "102 @45 enter write\n102 @45 begin h0 m1 f0 8 #1\n"
	       "102 @70 complete h0 8 #1\n102 @70 destroy h0\n102 @70 leave write\n");
	assert_true(noted("1 calls were on descriptors that another thread closed or replaced"));
}

/* It was counted as running, and its time is before that of the change, which then ends the handle. */
static void ends_before_the_change(void **state)
{
	(void)state;
	open_both();
	overlapping_write(45, 55, 0, 1, 0);
	replace(50, 60, 0, 1);
	expect(OPENED WRITTEN(45, 55, "h0") REPLACED "101 @60 destroy h0\n101 @60 leave dup2\n");
}

/* A change that failed leaves the calls that it has counted to the next one. */
static void ends_before_a_later_change(void **state)
{
	(void)state;
	open_both();
	overlapping_write(30, 35, IOP_EPOCHS - 1, IOP_EPOCHS, 0);
	read_or_write(102, "write", 36, 40, 0, 3, 8, 8);
	replace(50, 60, IOP_EPOCHS - 1, 1);
	expect(OPENED WRITTEN(30, 35, "h0")
	       "102 @36 enter write\n102 @36 begin h0 m1 f0 8 #2\n102 @40 complete h0 8 #2\n102 @40 leave write\n"
	       REPLACED "101 @60 destroy h0\n101 @60 leave dup2\n");
}

/* Another thread has opened the number again before the close has returned: the call is on its file. */
static void uses_the_next_file(void **state)
{
	(void)state;
	sb_open(&sb, 101, 10, 20, 0, 3, "/a", O_WRONLY);
	sb_open(&sb, 103, 32, 40, 0, 3, "/b", O_WRONLY);
	change(30, 50, 0, 1);
	close_descriptor(101, 30, 50, 3);
	overlapping_write(45, 60, 0, 1, IOP_EPOCH_DURING | IOP_EPOCH_NEXT);
	expect("101 @10 enter openat\n101 @20 create h0 m1 c0 s0\n101 @20 leave openat\n"
	       "103 @32 enter openat\n103 @40 create h1 m1 c0 s0\n103 @40 leave openat\n"
	       "101 @30 enter close\n101 @50 leave close\n"
	       "102 @45 enter write\n102 @45 begin h1 m1 f0 8 #1\n"
	       "102 @60 complete h1 8 #1\n102 @60 destroy h0\n102 @60 leave write\n");
	assert_int_equal(sb.model.handles.n, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_after_the_change), TEST(ends_before_the_change), TEST(ends_before_a_later_change),
		TEST(uses_the_next_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
