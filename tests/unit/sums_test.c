/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The sums of an interval: names beyond the limit are others, and everything still adds up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "stream/sums.h"

static const struct live_interval now = { .number = 7 };

static void add_calls(struct sums *s, uint64_t interval, uint32_t process, const char *layer, uint64_t time_ns)
{
	const struct live_process p = {
		.id = process, .pid = 100 + process, .rank = -1, .name = process % 2 ? "odd" : "even", .uid = -1
	};
	const struct summary_calls added = { .calls = 1, .time_ns = time_ns, .longest_ns = time_ns };

	assert_int_equal(sums_add_calls(s, &now, &(struct live_calls){ interval, &p, layer, &added }), 0);
}

static void add_writes(struct sums *s, uint32_t process, uint32_t file, const char *layer, uint64_t bytes, uint64_t time_ns)
{
	const struct live_process p = { .id = process, .pid = 100 + process, .rank = -1, .name = "process", .uid = -1 };
	const struct live_file f = { .id = file, .path = "/some/file" };
	const struct summary_operations added = {
		.counts = { .writes = 1, .known_writes = 1, .bytes_written = bytes, .time_ns = time_ns }, .longest_ns = time_ns
	};

	assert_int_equal(sums_add_operations(s, &now, &(struct live_operations){ now.number, &p, &f, layer, &added }), 0);
}

static void names_beyond_the_limit_are_others(void **state)
{
	struct sums s = { .limit = 3 };
	const struct sums_process **processes;
	const struct sums_file **files;
	uint64_t total = 0;
	size_t n;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		add_calls(&s, now.number, i, "POSIX", 100 + i);
		add_writes(&s, i, i, "POSIX", 1000, 10);
	}
	assert_int_equal(s.layers[0].calls.calls, 10);
	assert_int_equal(s.layers[0].calls.longest_ns, 109);
	assert_int_equal(s.layers[0].counts.bytes_written, 10000);
	assert_int_equal(s.other_processes, 7);
	assert_int_equal(s.other_files, 7);
	processes = sums_processes(&s, 10, &n);
	assert_int_equal(n, 3);
	assert_int_equal(processes[0]->id, 2);
	for (size_t i = 0; i < n; i++)
		total += processes[i]->time_ns;
	assert_int_equal(total + sums_other_process_ns(&s), s.layers[0].calls.time_ns);
	files = sums_files(&s, 2, &n);
	assert_int_equal(n, 2);
	assert_int_equal(s.other_files_by_layer[sums_other_files_layer(&s)].bytes_written, 7000);
	free(processes);
	free(files);
	sums_clear(&s);
	assert_int_equal(s.layers[0].calls.calls, 0);
	assert_int_equal(s.other_files, 0);
	assert_null(s.files);
	sums_deinit(&s);
}

/* A file that several processes write through two layers: bytes are those of one layer, over all processes. */
static void layers_are_not_added_up(void **state)
{
	struct sums s = { 0 };
	const struct sums_file **files;
	uint32_t layer;
	size_t n;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		add_writes(&s, i, 1, "MPI-IO", 1000, 50);
		add_writes(&s, i, 1, "POSIX", 1024, 40);
	}
	files = sums_files(&s, 10, &n);
	assert_int_equal(n, 1);
	layer = sums_file_layer(files[0]);
	assert_string_equal(s.layers[layer].name, "MPI-IO");
	assert_int_equal(files[0]->by_layer[layer].bytes_written, 4000);
	free(files);
	sums_deinit(&s);
}

/* Time that became known late is not the current interval's. */
static void earlier_time_is_apart(void **state)
{
	struct sums s = { 0 };

	(void)state;
	add_calls(&s, 5, 1, "POSIX", 30);
	add_calls(&s, 5, 2, "POSIX", 12);
	add_calls(&s, now.number, 1, "POSIX", 8);
	assert_int_equal(s.layers[0].calls.time_ns, 8);
	assert_int_equal(s.nearlier, 1);
	assert_int_equal(s.earlier[0].interval, 5);
	assert_int_equal(s.earlier[0].time_ns, 42);
	sums_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_beyond_the_limit_are_others),
		cmocka_unit_test(layers_are_not_added_up),
		cmocka_unit_test(earlier_time_is_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
