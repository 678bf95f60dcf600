/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The word by which the BPF programs count calls and changes of a descriptor (bpf/fd_word.h), also when other CPUs change it all
 * the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ioprobe/record.h>

typedef uint64_t u64;
typedef uint32_t u32;
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static unsigned failures;               /* of the next swaps: another CPU is always faster */

static u64 fd_word_test_swap(u64 *word, u64 was, u64 to)
{
	if (failures) {
		failures--;
		return ~was;
	}
	return __sync_val_compare_and_swap(word, was, to);
}

#define FD_WORD_SWAP fd_word_test_swap
#define FD_WORD_FUNCTION static
#include "../../bpf/fd_word.h"

#define OLD 5                           /* epoch of the file that is being closed */
#define WORD(running, changing, ended, epoch) \
	((u64)(running) + (changing) * CHANGING_ONE + (ended) * ENDED_ONE + (u64)(epoch) * EPOCH_ONE)

static bool counted, undecided;

static u64 leave(u64 word, u32 own)
{
	struct fd_word_left left;
	u64 was = word;

	fd_word_leave(&word, own, &left);
	assert_int_equal(left.was, was);
	counted = left.counted;
	undecided = left.undecided;
	return word;
}

static void calls_that_end_during_a_change_are_counted(void **state)
{
	(void)state;
	assert_int_equal(leave(WORD(2, 1, 0, OLD), OLD), WORD(1, 1, 1, OLD));
	assert_true(counted && !undecided);
	assert_int_equal(leave(WORD(2, 0, 0, OLD), OLD), WORD(1, 0, 0, OLD));           /* no change */
	assert_true(!counted && !undecided);
	assert_int_equal(leave(WORD(2, 1, 0, OLD), OLD + 1), WORD(1, 1, 0, OLD));       /* on the new file already */
	assert_true(!counted && !undecided);
	failures = WORD_TRIES - 1;
	assert_int_equal(leave(WORD(2, 1, 3, OLD), OLD), WORD(1, 1, 4, OLD));
	assert_true(counted && !undecided);
}

/* What is not counted is reported. */
static void calls_that_cannot_be_counted_are_undecided(void **state)
{
	const u32 most = IOP_EPOCHS - 1;

	(void)state;
	failures = WORD_TRIES;
	assert_int_equal(leave(WORD(2, 1, 3, OLD), OLD), WORD(1, 1, 3, OLD));
	assert_true(!counted && undecided);
	failures = WORD_TRIES;
	leave(WORD(2, 0, 0, OLD), OLD);
	assert_true(!counted && !undecided);
	assert_int_equal(leave(WORD(2, 1, most, OLD), OLD), WORD(1, 1, most, OLD));     /* the counter is full */
	assert_true(!counted && undecided);
}

static void changes_advance(void **state)
{
	u64 word = WORD(3, 2, 7, OLD);

	(void)state;
	assert_int_equal(fd_word_advance(&word, &undecided), WORD(3, 2, 7, OLD));
	assert_int_equal(word, WORD(3, 1, 0, OLD + 1));
	assert_false(undecided);
	failures = WORD_TRIES;
	word = WORD(3, 2, 7, OLD);
	assert_int_equal(fd_word_advance(&word, &undecided), WORD(3, 2, 7, OLD));
	assert_int_equal(word, WORD(3, 1, 0, OLD + 1));
	assert_true(undecided);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_end_during_a_change_are_counted),
		cmocka_unit_test(calls_that_cannot_be_counted_are_undecided),
		cmocka_unit_test(changes_advance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
