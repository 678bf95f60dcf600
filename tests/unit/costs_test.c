/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What recorded calls cost, in parts: as the recorder has noted it, and in the archive of several nodes.
 */
#include "replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/archive_internal.h"
#include "otf2/otf2_library.h"
#include "otf2_model_fixture.h"
#include "sink/summary/summary.h"

static void expect_cost(size_t i, const char *layer, uint64_t total_ns, uint64_t entry_return_ns, uint64_t record_ns,
			uint64_t site_ns)
{
	const struct model_cost *cost = &sb.model.costs.v[i];

	assert_string_equal(cost->layer, layer);
	assert_int_equal(cost->total_ns, total_ns);
	assert_int_equal(cost->entry_return_ns, entry_return_ns);
	assert_int_equal(cost->record_ns, record_ns);
	assert_int_equal(cost->site_ns, site_ns);
	assert_true(cost->entry_return_ns == MODEL_COST_UNKNOWN || entry_return_ns + record_ns + site_ns == total_ns);
}

#define UNKNOWN MODEL_COST_UNKNOWN

/* What was not measured is unknown, as is what is left of a total of which a part is unknown, or that is less than its parts. */
static void parts_add_up_or_are_unknown(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_COSTS, 0, 1,
		"layer_0=1000 300 whole\nrecord_0=60\nsite_0=140\n"
		"layer_1=1000 300 without sites\nrecord_1=60\nsite_1=0\n"
		"layer_2=1000 300 no site\nrecord_2=60\n"
		"layer_3=1000 300 no record\nsite_3=140\n"
		"layer_4=1000 300 disturbed\nrecord_4=60\nsite_4=941\n"
		"layer_5=1000 300 exact\nrecord_5=60\nsite_5=940\n"
		"layer_6=50 30 dear record\nrecord_6=60\nsite_6=0\nsingle_step_ns=7\nnested_ns=8\n", NULL);
	replay();
	assert_int_equal(sb.model.costs.n, 7);
	expect_cost(0, "whole", 1000, 800, 60, 140);
	expect_cost(1, "without sites", 1000, 940, 60, 0);
	expect_cost(2, "no site", 1000, UNKNOWN, 60, UNKNOWN);
	expect_cost(3, "no record", 1000, UNKNOWN, UNKNOWN, 140);
	expect_cost(4, "disturbed", 1000, UNKNOWN, 60, 941);
	expect_cost(5, "exact", 1000, 0, 60, 940);
	expect_cost(6, "dear record", 50, UNKNOWN, 60, 0);
	assert_int_equal(sb.model.single_step_cost_ns, 7);
	assert_int_equal(sb.model.nested_cost_ns, 8);
}

/* As recordings had it until 28 November 2026. */
static void old_recordings_have_no_parts(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_COSTS, 0, 1, "layer_0=1000 300 POSIX\nsingle_step_ns=7\nnested_ns=8\n", NULL);
	replay();
	assert_int_equal(sb.model.costs.n, 1);
	expect_cost(0, "POSIX", 1000, UNKNOWN, UNKNOWN, UNKNOWN);
}

static json_t *json_of_costs(struct model_cost *costs, size_t n)
{
	struct model model = { .costs = { .v = costs, .n = n }, .complete = true };
	struct sink *sink;
	char *text = NULL;
	json_t *root;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(summary_sink_create(&sink, out, true), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static void summary_has_the_parts(void **state)
{
	struct model_cost costs[] = { { "POSIX", 1000, 300, 800, 60, 140 }, { "HDF5", 2000, 300, UNKNOWN, 70, UNKNOWN } };
	json_t *root = json_of_costs(costs, 2), *found = json_object_get(json_object_get(root, "recorder_costs"), "layers");
	json_t *expected = json_loads("[{\"layer\": \"POSIX\", \"call_ns\": 1000, \"inside_ns\": 300, \"entry_return_ns\": 800,"
				      " \"record_ns\": 60, \"site_ns\": 140},"
				      "{\"layer\": \"HDF5\", \"call_ns\": 2000, \"inside_ns\": 300, \"entry_return_ns\": null,"
				      " \"record_ns\": 70, \"site_ns\": null}]", 0, NULL);

	(void)state;
	assert_non_null(expected);
	assert_true(json_equal(found, expected));
	json_decref(expected);
	json_decref(root);
}

/* ---- of several nodes ---- */

static struct node nodes[3];

static void measured(unsigned node, const char *name, uint64_t ns)
{
	struct node_cost *cost = MODEL_ADD(nodes[node].costs);

	assert_non_null(cost);
	*cost = (struct node_cost){ node_string_add(&nodes[node], name), ns };
}

static void measured_parts(unsigned node, uint64_t total_ns, uint64_t inside_ns, uint64_t entry_return_ns, uint64_t record_ns,
			   uint64_t site_ns)
{
	measured(node, "PROBE_NS_POSIX", total_ns);
	measured(node, "PROBE_INSIDE_NS_POSIX", inside_ns);
	if (record_ns) {
		measured(node, "PROBE_ENTRY_RETURN_NS_POSIX", entry_return_ns);
		measured(node, "PROBE_RECORD_NS_POSIX", record_ns);
		measured(node, "PROBE_SITE_NS_POSIX", site_ns);
	}
	measured(node, "PROBE_NS_NESTED", node);
}

/* Returns a reader of an archive that has only the properties. */
static OTF2_Reader *merged(size_t nnodes)
{
	struct merge m = { .nodes = nodes, .nnodes = nnodes };
	OTF2_Archive *archive = otf2_library_create(otf2_dir, "traces", OTF2_CHUNK_SIZE_MIN, OTF2_CHUNK_SIZE_MIN);

	assert_non_null(archive);
	assert_int_equal(otf2_library_close(archive, archive_write_properties(&m, archive)), OTF2_SUCCESS);
	return otf2_open_reader();
}

/* value NULL: the property is not there. */
static void expect_property(OTF2_Reader *reader, const char *name, const char *value)
{
	char key[64], *found = NULL;

	snprintf(key, sizeof(key), "IOPROBE::%s", name);
	if (!value) {
		assert_int_not_equal(OTF2_Reader_GetProperty(reader, key, &found), OTF2_SUCCESS);
		return;
	}
	assert_int_equal(OTF2_Reader_GetProperty(reader, key, &found), OTF2_SUCCESS);
	assert_string_equal(found, value);
	free(found);
}

static int costs_setup(void **state)
{
	const struct node_head head = { .complete = true, .host = REF_NONE, .version = REF_NONE, .batch_job = REF_NONE,
					.machine = REF_NONE };

	for (unsigned n = 0; n < 3; n++) {
		nodes[n] = (struct node){ .head = head };
		nodes[n].head.version = node_string_add(&nodes[n], "0.1");
		nodes[n].head.host = node_string_add(&nodes[n], "n");
	}
	return otf2_dir_setup(state);
}

static int costs_teardown(void **state)
{
	for (unsigned n = 0; n < 3; n++)
		node_deinit(&nodes[n]);
	return otf2_dir_teardown(state);
}

/* Each the most of its own would be parts of no call. */
static void parts_are_of_the_node_with_the_dearest_calls(void **state)
{
	OTF2_Reader *reader;

	(void)state;
	measured_parts(0, 1000, 500, 700, 200, 100);
	measured_parts(1, 1100, 400, 1000, 60, 40);
	measured_parts(2, 900, 300, 300, 100, 500);
	reader = merged(3);
	expect_property(reader, "PROBE_NS_POSIX", "1100");
	expect_property(reader, "PROBE_INSIDE_NS_POSIX", "500");
	expect_property(reader, "PROBE_ENTRY_RETURN_NS_POSIX", "1000");
	expect_property(reader, "PROBE_RECORD_NS_POSIX", "60");
	expect_property(reader, "PROBE_SITE_NS_POSIX", "40");
	expect_property(reader, "PROBE_NS_NESTED", "2");
	OTF2_Reader_Close(reader);
}

static void parts_are_unknown_where_that_node_has_none(void **state)
{
	OTF2_Reader *reader;

	(void)state;
	measured_parts(0, 1000, 500, 700, 200, 100);
	measured_parts(1, 1100, 400, 0, 0, 0);
	reader = merged(2);
	expect_property(reader, "PROBE_NS_POSIX", "1100");
	expect_property(reader, "PROBE_RECORD_NS_POSIX", NULL);
	expect_property(reader, "PROBE_ENTRY_RETURN_NS_POSIX", NULL);
	OTF2_Reader_Close(reader);
}

/* Also if the first one has none; and no cost at all is known if one node has not measured it. */
static void parts_of_another_node_are_kept(void **state)
{
	OTF2_Reader *reader;

	(void)state;
	measured_parts(0, 1000, 500, 0, 0, 0);
	measured_parts(1, 1100, 400, 1000, 60, 40);
	measured(1, "PROBE_NS_HDF5", 5);
	reader = merged(2);
	expect_property(reader, "PROBE_SITE_NS_POSIX", "40");
	expect_property(reader, "PROBE_NS_HDF5", NULL);
	OTF2_Reader_Close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_add_up_or_are_unknown, sb_setup, sb_teardown),
		cmocka_unit_test_setup_teardown(old_recordings_have_no_parts, sb_setup, sb_teardown),
		cmocka_unit_test(summary_has_the_parts),
		cmocka_unit_test_setup_teardown(parts_are_of_the_node_with_the_dearest_calls, costs_setup, costs_teardown),
		cmocka_unit_test_setup_teardown(parts_are_unknown_where_that_node_has_none, costs_setup, costs_teardown),
		cmocka_unit_test_setup_teardown(parts_of_another_node_are_kept, costs_setup, costs_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
