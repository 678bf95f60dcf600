/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of files of two nodes: a shared file has the values of both, each once; a node's own file keeps its own.
 */
#include "merge/file_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Merged refs: 7 is the shared file, 3 the second node's own. */
static uint32_t first_files[] = { 7 }, second_files[] = { 3, 7 };

static void add_fact(struct node *node, uint32_t file, const char *name, const char *value)
{
	struct node_file_fact *fact = MODEL_ADD(node->file_facts);

	assert_non_null(fact);
	*fact = (struct node_file_fact){ file, node_string_add(node, name), node_string_add(node, value) };
}

static void two_nodes(void **state)
{
	struct node nodes[2] = { 0 };
	struct node_map maps[2] = { { .files = first_files }, { .files = second_files } };
	struct merge m = { .nodes = nodes, .nnodes = 2, .maps = maps };
	struct file_fact *facts;
	size_t n = 0;

	(void)state;
	add_fact(&nodes[0], 0, "MPI-IO: Hint cb_nodes", "2");
	add_fact(&nodes[0], 0, "Stripe Devices", "3,7");
	add_fact(&nodes[1], 0, "HDF5 d: Layout", "chunked");
	add_fact(&nodes[1], 1, "MPI-IO: Hint cb_nodes", "2 | 4");
	add_fact(&nodes[1], 1, "Stripe Devices", "3,7");
	facts = file_facts_new(&m, &n);
	assert_non_null(facts);
	assert_int_equal(n, 3);
	assert_int_equal(facts[0].file, 3);
	assert_string_equal(facts[0].name, "HDF5 d: Layout");
	assert_string_equal(facts[0].values, "chunked");
	assert_int_equal(facts[1].file, 7);
	assert_string_equal(facts[1].values, "2 | 4");
	assert_string_equal(facts[2].name, "Stripe Devices");
	assert_string_equal(facts[2].values, "3,7");
	file_facts_free(facts, n);
	node_deinit(&nodes[0]);
	node_deinit(&nodes[1]);
}

#define SHARED 0
#define OWN 1

/* Of a shared file: of the nodes that know them, unless they differ. */
static void stripes_of_all_nodes(void **state)
{
	static const struct { uint64_t bytes[3], count[3], expected_bytes, expected_count; } cases[] = {
		{ { 0, 1 << 20, 1 << 20 }, { 0, 4, 4 }, 1 << 20, 4 },
		{ { 1 << 20, 1 << 21, 1 << 20 }, { 4, 4, 0 }, 0, 4 },
		{ { 1 << 20, 0, 1 << 20 }, { 2, 4, 4 }, 1 << 20, 0 },
		{ { 0, 0, 0 }, { 0, 0, 0 }, 0, 0 },
	};
	uint32_t refs[] = { SHARED }, last_refs[] = { SHARED, OWN };

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct node nodes[3] = { 0 };
		struct node_map maps[3] = { { .files = refs }, { .files = refs }, { .files = last_refs } };
		struct merge m = { .nodes = nodes, .nnodes = 3, .maps = maps, .nfiles = 2 };
		struct file_stripes *stripes;

		for (int n = 0; n < 3; n++) {
			struct node_file *file = MODEL_ADD(nodes[n].files);

			assert_non_null(file);
			file->stripe_bytes = cases[c].bytes[n];
			file->stripe_count = cases[c].count[n];
		}
		assert_non_null(MODEL_ADD(nodes[2].files));
		nodes[2].files.v[1].stripe_count = 7;
		stripes = file_stripes_new(&m);
		assert_non_null(stripes);
		assert_int_equal(stripes[SHARED].bytes, cases[c].expected_bytes);
		assert_int_equal(stripes[SHARED].count, cases[c].expected_count);
		assert_int_equal(stripes[OWN].bytes, 0);
		assert_int_equal(stripes[OWN].count, 7);
		free(stripes);
		for (int n = 0; n < 3; n++)
			node_deinit(&nodes[n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(two_nodes), cmocka_unit_test(stripes_of_all_nodes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
