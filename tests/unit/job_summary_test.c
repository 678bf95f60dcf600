/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary of a job. A file has stripes if all nodes that know them agree; other numbers are sums or maxima.
 */
#include "merge/job_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/merge.h"

#define NODES 3

static char dir[] = "/tmp/job_summary_test.XXXXXX";

/* Of one file on a shared file system; null: not known. */
static void write_node(int n, const char *size, const char *count, const char *devices, const char *components)
{
	char name[64];
	FILE *out;

	snprintf(name, sizeof(name), "%s/node%d", dir, n);
	assert_int_equal(mkdir(name, 0700), 0);
	strcat(name, "/summary.json");
	out = fopen(name, "w");
	assert_non_null(out);
	fprintf(out,
		"{\"host\": \"n%d\", \"files\": [{\"path\": \"/lustre/f\", \"scope\": \"shared\", \"block_size\": %d, "
		"\"reads\": 2, "
		"\"stripe_size\": %s, \"stripe_count\": %s, \"stripe_devices\": %s, \"stripe_pool\": null, "
		"\"stripe_components\": %s, \"layers\": []}]}",
		n, 4096 * (n + 1), size, count, devices, components);
	fclose(out);
}

static json_t *file_of_job(void)
{
	struct node nodes[NODES] = { 0 };
	struct merge m = { .nodes = nodes };
	struct job_summary *summary;
	char name[64], err[512] = "";
	json_t *root, *file;

	snprintf(name, sizeof(name), "%s/job", dir);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(job_summary_create(&summary, name), 0);
	for (int n = 0; n < NODES; n++) {
		snprintf(name, sizeof(name), "%s/node%d", dir, n);
		if (job_summary_add(summary, name, err, sizeof(err)))
			fail_msg("%s", err);
	}
	snprintf(name, sizeof(name), "%s/job", dir);
	assert_int_equal(job_summary_finish(summary, &m, name), 0);
	job_summary_destroy(summary);
	strcat(name, "/summary.json");
	root = json_load_file(name, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(root, "files")), 1);
	file = json_incref(json_array_get(json_object_get(root, "files"), 0));
	json_decref(root);
	return file;
}

static void expect_member(const json_t *file, const char *key, const char *text)
{
	char *found = json_dumps(json_object_get(file, key), JSON_ENCODE_ANY);

	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
}

static void stripes_of_all_nodes(void **state)
{
	json_t *file;

	(void)state;
	write_node(0, "null", "4", "\"3,7\"", "\"a\"");
	write_node(1, "1048576", "2", "\"3,7\"", "\"b\"");
	write_node(2, "1048576", "4", "null", "\"a\"");
	file = file_of_job();
	expect_member(file, "stripe_size", "1048576");
	expect_member(file, "stripe_count", "null");
	expect_member(file, "stripe_devices", "\"3,7\"");
	expect_member(file, "stripe_pool", "null");
	expect_member(file, "stripe_components", "null");
	expect_member(file, "block_size", "12288");
	expect_member(file, "reads", "6");
	expect_member(file, "nodes", "3");
	json_decref(file);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_directory(void **state)
{
	static const char *const names[] = { "node0", "node1", "node2", "job" };
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s/summary.json", dir, names[i]);
		unlink(name);
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		rmdir(name);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(stripes_of_all_nodes) };

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
