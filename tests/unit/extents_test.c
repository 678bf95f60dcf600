/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Unions of byte ranges, against a map of bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/extents.h"

static void like_a_map_of_bytes(void **state)
{
	unsigned char map[512] = { 0 };
	struct extents e = { 0 };
	unsigned random = 1;

	(void)state;
	for (int i = 0; i < 300; i++) {
		uint64_t begin, end, before = 0, all = 0;

		random = random * 1103515245 + 12345;
		begin = random >> 8 & 511;
		end = begin + (random >> 20 & 15);
		end = end > 512 ? 512 : end;
		for (uint64_t b = begin; b < end; b++)
			before += map[b];
		assert_int_equal(extents_add(&e, begin, end), before);
		memset(map + begin, 1, end - begin);
		for (int b = 0; b < 512; b++)
			all += map[b];
		assert_int_equal(extents_bytes(&e), all);
	}
	extents_clear(&e);
}

static void adjacent_ranges_are_one(void **state)
{
	struct extents e = { 0 };

	(void)state;
	extents_add(&e, 0, 10);
	extents_add(&e, 20, 30);
	assert_int_equal(e.n, 2);
	extents_add(&e, 10, 20);
	assert_int_equal(e.n, 1);
	extents_clear(&e);
}

static void memory_is_bounded(void **state)
{
	struct extents e = { 0 };

	(void)state;
	for (uint64_t i = 0; i < EXTENTS_MAX + 10; i++)
		assert_int_equal(extents_add(&e, i * 100, i * 100 + 1), 0);
	assert_int_equal(e.n, EXTENTS_MAX);
	assert_true(e.full);
	/* what is known goes on being found, what is not is no repetition */
	assert_int_equal(extents_add(&e, 0, 1), 1);
	assert_int_equal(extents_add(&e, (EXTENTS_MAX + 5) * 100, (EXTENTS_MAX + 5) * 100 + 1), 0);
	extents_clear(&e);
}

static void what_two_have_in_common(void **state)
{
	struct extents a = { 0 }, b = { 0 };

	(void)state;
	extents_add(&a, 0, 100);
	extents_add(&a, 200, 300);
	extents_add(&b, 50, 250);
	assert_int_equal(extents_common(&a, &b), 100);
	extents_clear(&a);
	extents_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_a_map_of_bytes),
		cmocka_unit_test(adjacent_ranges_are_one),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(what_two_have_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
