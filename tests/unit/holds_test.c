/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Return addresses are written to a waiting thread's stack only while it waits: a late hold server writes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/hold_server_internal.h"
#include "bpf/rings.h"

#define SLOT 5
#define GENERATION(n) ((uint64_t)(n) << 8)
#define SECOND_NS 1000000000ull

static struct iop_hold holds[IOP_MAX_HOLDS];
static uint64_t stack[2];

/* A request of the third generation for two words of this process, whose entry is in a state of some generation. */
static struct iop_return_request request(uint64_t generation, enum iop_hold_state state, uint64_t deadline_ns)
{
	struct iop_return_request r = { .id = { .word = GENERATION(3) | IOP_HOLD_WAITING, .deadline_ns = deadline_ns,
						.pid_tgid = (uint64_t)getpid() << 32, .slot = SLOT }, .n = 2 };

	for (size_t i = 0; i < 2; i++) {
		stack[i] = 0xdead;
		r.slot[i].address = (uintptr_t)&stack[i];
		r.slot[i].value = 100 + i;
	}
	memset(holds, 0, sizeof(holds));
	holds[SLOT].word = GENERATION(generation) | state;
	return r;
}

static void assert_unwritten(const struct iop_return_request *r, uint64_t word)
{
	assert_int_equal(holds_give_returns(holds, r), 2);
	assert_int_equal(stack[0], 0xdead);
	assert_int_equal(stack[1], 0xdead);
	assert_int_equal(holds[SLOT].word, word);
}

static void test_written_while_it_waits(void **state)
{
	struct iop_return_request r = request(3, IOP_HOLD_WAITING, monotonic_ns() + SECOND_NS);

	(void)state;
	assert_int_equal(holds_give_returns(holds, &r), 0);
	assert_int_equal(stack[0], 100);
	assert_int_equal(stack[1], 101);
	assert_int_equal(holds[SLOT].word, GENERATION(3) | IOP_HOLD_ANSWERED);
}

static void test_nothing_after_it_gave_up(void **state)
{
	struct iop_return_request r = request(3, IOP_HOLD_FREE, monotonic_ns() + SECOND_NS);

	(void)state;
	assert_unwritten(&r, GENERATION(3) | IOP_HOLD_FREE);
}

/* The thread, or another one, waits again in the same entry. */
static void test_nothing_in_a_later_generation(void **state)
{
	struct iop_return_request r = request(4, IOP_HOLD_WAITING, monotonic_ns() + SECOND_NS);

	(void)state;
	assert_unwritten(&r, GENERATION(4) | IOP_HOLD_WAITING);
}

/* It is about to give up: whether it still waits is not asked. */
static void test_nothing_after_the_deadline(void **state)
{
	struct iop_return_request r = request(3, IOP_HOLD_WAITING, monotonic_ns());

	(void)state;
	assert_unwritten(&r, GENERATION(3) | IOP_HOLD_WAITING);
}

static void test_nothing_twice(void **state)
{
	struct iop_return_request r = request(3, IOP_HOLD_ANSWERED, monotonic_ns() + SECOND_NS);

	(void)state;
	assert_unwritten(&r, GENERATION(3) | IOP_HOLD_ANSWERED);
}

/* A slot and a count from a damaged request stay within their arrays. */
static void test_numbers_out_of_range(void **state)
{
	struct iop_return_request r = request(3, IOP_HOLD_WAITING, monotonic_ns() + SECOND_NS);

	(void)state;
	r.id.slot += IOP_MAX_HOLDS;
	r.n = UINT64_MAX;
	assert_int_equal(holds_give_returns(holds, &r), IOP_MAX_RETURNS - 2);   /* the others have no address */
	assert_int_equal(stack[1], 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_while_it_waits),   cmocka_unit_test(test_nothing_after_it_gave_up),
		cmocka_unit_test(test_nothing_in_a_later_generation), cmocka_unit_test(test_nothing_after_the_deadline),
		cmocka_unit_test(test_nothing_twice),            cmocka_unit_test(test_numbers_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
