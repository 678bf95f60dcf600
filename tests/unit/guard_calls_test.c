/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a look of the guard reads, and which calls it keeps: with processes of a test, whose reads are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/guard_calls.h"

#define TRAMPOLINE 0x7fff0000ull
#define STACK 0x100000ull               /* the thread's own, of one page */
#define OTHER_STACK 0x200000ull
#define OVERWRITTEN 99                  /* a process whose stacks have other contents */
#define ENDED 98
#define UNREADABLE 97

static size_t words_read, areas_read;
static bool was_read[1000];

static int fake_word(pid_t pid, uint64_t address, uint64_t *word)
{
	(void)address;
	words_read++;
	*word = pid == OVERWRITTEN ? 0x1234 : TRAMPOLINE + 8;
	return pid == ENDED ? -ESRCH : 0;
}

static ssize_t fake_areas(pid_t pid, struct guard_area **areas)
{
	areas_read++;
	was_read[pid % 1000] = true;
	if (pid == UNREADABLE)
		return -EACCES;
	*areas = calloc(2, sizeof(**areas));
	(*areas)[0] = (struct guard_area){ STACK, STACK + 4096 };
	(*areas)[1] = (struct guard_area){ OTHER_STACK, OTHER_STACK + 4096 };
	return 2;
}

static const struct guard_access access_of_test = { fake_word, fake_areas };

static void add_call(struct guard_calls *calls, pid_t pid, unsigned tid, uint64_t address, uint64_t sp)
{
	const struct iop_replaced_return call = { .pid_tgid = (uint64_t)pid << 32 | tid, .sp = sp, .address = address,
						  .value = 0x4000 + tid, .trampoline = TRAMPOLINE };

	assert_true(guard_calls_add(calls, &call));
}

static size_t look(struct guard_calls *calls, size_t turn)
{
	words_read = areas_read = 0;
	memset(was_read, 0, sizeof(was_read));
	return guard_calls_keep_in_flight(calls, &access_of_test, turn);
}

static void calls_that_were_left_are_removed(void **state)
{
	struct guard_calls calls = { 0 };

	(void)state;
	add_call(&calls, 5, 1, STACK + 64, STACK + 32);                 /* above the stack pointer: in flight */
	add_call(&calls, 5, 2, STACK + 32, STACK + 64);                 /* left by longjmp */
	add_call(&calls, 5, 3, STACK + 32, OTHER_STACK + 64);           /* in a signal handler on a stack of its own */
	add_call(&calls, OVERWRITTEN, 4, STACK + 64, STACK + 32);
	add_call(&calls, ENDED, 5, STACK + 64, STACK + 32);
	assert_int_equal(look(&calls, 0), 0);
	assert_int_equal(calls.n, 2);
	assert_int_equal((uint32_t)calls.v[0].pid_tgid, 1);
	assert_int_equal((uint32_t)calls.v[1].pid_tgid, 3);
	assert_true(guard_calls_contain(&calls, &calls.v[1]));
	assert_true(guard_calls_contain_process(&calls, 5));
	assert_false(guard_calls_contain_process(&calls, OVERWRITTEN));
	free(calls.v);
}

/* In doubt a call is guarded. */
static void calls_of_an_unreadable_process_stay(void **state)
{
	struct guard_calls calls = { 0 };

	(void)state;
	add_call(&calls, UNREADABLE, 1, STACK + 32, STACK + 64);
	add_call(&calls, UNREADABLE, 2, STACK + 64, STACK + 32);
	assert_int_equal(look(&calls, 0), 1);
	assert_int_equal(calls.n, 2);
	free(calls.v);
}

static void mappings_of_a_process_are_read_once(void **state)
{
	struct guard_calls calls = { 0 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		add_call(&calls, 5 + i % 2, i, STACK + 32, OTHER_STACK + 64);
	for (unsigned i = 0; i < 100; i++)
		add_call(&calls, 300 + i, i, STACK + 64, STACK + 32);   /* nothing to compare */
	assert_int_equal(look(&calls, 0), 0);
	assert_int_equal(words_read, 20100);
	assert_int_equal(areas_read, 2);
	assert_int_equal(calls.n, 20100);
	free(calls.v);
}

/* Many processes: a look reads GUARD_MAPS_READS of them, the next look others; the rest stays, and is counted. */
static void mappings_of_few_processes_are_read(void **state)
{
	enum { PROCESSES = 3 * GUARD_MAPS_READS + 10 };
	struct guard_calls calls = { 0 };
	size_t looks = 0;

	(void)state;
	for (unsigned i = 0; i < PROCESSES; i++) {
		add_call(&calls, 200 + i, 1, STACK + 32, STACK + 64);           /* left */
		add_call(&calls, 200 + i, 2, STACK + 64, STACK + 32);           /* in flight */
	}
	while (looks < 10 && look(&calls, looks++))
		assert_int_equal(areas_read, GUARD_MAPS_READS);
	assert_int_equal(looks, 4);
	assert_int_equal(areas_read, 10);
	assert_int_equal(calls.n, PROCESSES);
	free(calls.v);
}

/* Processes whose calls are really in flight must not keep others from being read. */
static void looks_take_turns(void **state)
{
	bool all[2 * GUARD_MAPS_READS + 7] = { 0 };
	enum { PROCESSES = sizeof(all) / sizeof(*all) };
	struct guard_calls calls = { 0 };

	(void)state;
	for (unsigned i = 0; i < PROCESSES; i++)
		add_call(&calls, 200 + i, 1, STACK + 32, OTHER_STACK + 64);
	for (size_t turn = 0; turn < 3; turn++) {
		assert_int_equal(look(&calls, turn), PROCESSES - GUARD_MAPS_READS);
		for (unsigned i = 0; i < PROCESSES; i++)
			all[i] |= was_read[200 + i];
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		assert_true(all[i]);
	free(calls.v);
}

static void looks_take_a_hundredth_of_the_time(void **state)
{
	(void)state;
	assert_int_equal(guard_calls_pause(40, 100000), 40);
	assert_int_equal(guard_calls_pause(5000, 50000000), 5000);
	assert_int_equal(guard_calls_pause(5000, 2000000000), 198000);
	assert_int_equal(guard_calls_pause(5000, UINT64_MAX / 200), 3600000);
}

/* By the kernel, of this process. */
static void own_mappings_are_read(void **state)
{
	struct guard_area *areas = NULL;
	ssize_t n = guard_access_proc.read_areas(getpid(), &areas);
	uint64_t word = 0, value = 0x123456789abcdefull;
	bool found = false;

	(void)state;
	assert_true(n > 0);
	for (ssize_t i = 0; i < n; i++) {
		assert_true(areas[i].low < areas[i].high && (!i || areas[i].low >= areas[i - 1].high));
		found |= (uintptr_t)&value >= areas[i].low && (uintptr_t)&value < areas[i].high;
	}
	assert_true(found);
	assert_int_equal(guard_access_proc.read_word(getpid(), (uintptr_t)&value, &word), 0);
	assert_int_equal(word, value);
	assert_int_equal(guard_access_proc.read_word(getpid(), 8, &word), -EFAULT);
	free(areas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_were_left_are_removed),
		cmocka_unit_test(calls_of_an_unreadable_process_stay),
		cmocka_unit_test(mappings_of_a_process_are_read_once),
		cmocka_unit_test(mappings_of_few_processes_are_read),
		cmocka_unit_test(looks_take_turns),
		cmocka_unit_test(looks_take_a_hundredth_of_the_time),
		cmocka_unit_test(own_mappings_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
