/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Without memory an insertion fails: the table is unchanged and the process continues.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int allocations_left = -1;       /* -1: any number */

static void *scarce_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left -= allocations_left > 0;
	return malloc(size);
}

#define uthash_malloc(size) scarce_malloc(size)
#include "util/hash.h"

struct element { int key; UT_hash_handle hh; };

static struct element *add(struct element **table, int key)
{
	struct element *element = calloc(1, sizeof(*element));

	element->key = key;
	HASH_ADD_INT(*table, key, element);
	if (hash_added(element))
		return element;
	free(element);
	return NULL;
}

static unsigned count(struct element *table, int upto)
{
	struct element *element;
	unsigned n = 0;

	for (int key = 0; key < upto; key++) {
		HASH_FIND_INT(table, &key, element);
		n += element != NULL;
	}
	return n;
}

static void clear(struct element **table)
{
	struct element *element, *next;

	HASH_ITER(hh, *table, element, next) {
		HASH_DEL(*table, element);
		free(element);
	}
}

static void first_element(void **state)
{
	struct element *table = NULL;

	(void)state;
	for (int left = 0; left < 2; left++) {
		allocations_left = left;
		assert_null(add(&table, 1));
		assert_null(table);
	}
	allocations_left = -1;
	assert_non_null(add(&table, 1));
	clear(&table);
}

/* The table cannot grow: elements are refused, those that are there stay. */
static void many_elements(void **state)
{
	struct element *table = NULL;
	unsigned added;

	(void)state;
	allocations_left = 2;
	for (added = 0; added < 5000 && add(&table, added); added++)
		;
	assert_true(added > 30 && added < 5000);
	assert_int_equal(HASH_COUNT(table), added);
	assert_int_equal(count(table, 5000), added);
	allocations_left = -1;
	for (int key = added; key < 5000; key++)
		assert_non_null(add(&table, key));
	assert_int_equal(count(table, 5000), 5000);
	clear(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(first_element), cmocka_unit_test(many_elements) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
