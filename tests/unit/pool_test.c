/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A pool of elements: each is zero, aligned and apart from the others; those that were given back come again.
 */
#include "util/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define ELEMENTS 1000

static void elements_are_apart(void **state)
{
	static const size_t sizes[] = { 1, 8, 24, 580 };
	static unsigned char *elements[ELEMENTS];

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct pool pool = { .size = sizes[s] };

		for (int turn = 0; turn < 2; turn++) {
			for (int i = 0; i < ELEMENTS; i++) {
				elements[i] = pool_take(&pool);
				assert_non_null(elements[i]);
				assert_int_equal((uintptr_t)elements[i] % _Alignof(max_align_t), 0);
				for (size_t b = 0; b < pool.size; b++)
					assert_int_equal(elements[i][b], 0);
				memset(elements[i], i % 255 + 1, pool.size);
			}
			for (int i = 0; i < ELEMENTS; i++)
				for (size_t b = 0; b < pool.size; b++)
					assert_int_equal(elements[i][b], i % 255 + 1);
			for (int i = 0; i < ELEMENTS; i++)
				pool_give_back(&pool, elements[i]);
		}
		pool_deinit(&pool);
	}
}

static void last_one_comes_first(void **state)
{
	struct pool pool = { .size = 16 };
	void *one = pool_take(&pool), *other = pool_take(&pool);

	(void)state;
	assert_ptr_not_equal(one, other);
	pool_give_back(&pool, NULL);
	pool_give_back(&pool, one);
	assert_ptr_equal(pool_take(&pool), one);
	pool_deinit(&pool);
	assert_int_equal(pool.size, 16);
	assert_null(pool.chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(elements_are_apart), cmocka_unit_test(last_one_comes_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
