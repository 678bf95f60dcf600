/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Filters from options: what they accept, what they refuse, which files they want.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/filter.h"

static char err[512];

static struct filter with_paths(const char *paths, const char *excluded)
{
	struct filter filter = { 0 };

	if (paths)
		assert_int_equal(filter_add_paths(&filter, paths, false, err, sizeof(err)), 0);
	if (excluded)
		assert_int_equal(filter_add_paths(&filter, excluded, true, err, sizeof(err)), 0);
	return filter;
}

static void test_empty(void **state)
{
	struct filter filter = { 0 };

	(void)state;
	assert_false(filter_by_file(&filter));
	assert_true(filter_wants_file(&filter, S_IFREG, "/a"));
	assert_true(filter_wants_file(&filter, S_IFIFO, NULL));
}

static void test_paths(void **state)
{
	struct filter filter = with_paths("/nowhere/a,/nowhere/b/", "/nowhere/a/x");

	(void)state;
	assert_true(filter_by_file(&filter));
	assert_true(filter_wants_file(&filter, S_IFREG, "/nowhere/a"));
	assert_true(filter_wants_file(&filter, S_IFREG, "/nowhere/a/f"));
	assert_true(filter_wants_file(&filter, S_IFREG, "/nowhere/b/c/d"));
	assert_false(filter_wants_file(&filter, S_IFREG, "/nowhere/ab"));
	assert_false(filter_wants_file(&filter, S_IFREG, "/elsewhere/nowhere/a"));
	assert_false(filter_wants_file(&filter, S_IFREG, "/nowhere"));
	assert_false(filter_wants_file(&filter, S_IFREG, "/nowhere/a/x/f"));
	assert_true(filter_wants_file(&filter, S_IFREG, "/nowhere/a/xy"));
	assert_false(filter_wants_file(&filter, S_IFIFO, NULL));
	assert_string_equal(filter.text[IOP_FILTER_FILE], "--path /nowhere/a,/nowhere/b/ --exclude-path /nowhere/a/x");
}

/* Without a --path everything else is wanted, pipes too. */
static void test_excluded(void **state)
{
	struct filter filter = with_paths(NULL, "/nowhere");

	(void)state;
	assert_false(filter_wants_file(&filter, S_IFREG, "/nowhere/f"));
	assert_true(filter_wants_file(&filter, S_IFREG, "/f"));
	assert_true(filter_wants_file(&filter, S_IFIFO, NULL));
}

static void test_root(void **state)
{
	struct filter filter = with_paths("/", NULL);

	(void)state;
	assert_true(filter_wants_file(&filter, S_IFREG, "/a/b"));
	assert_false(filter_wants_file(&filter, S_IFSOCK, NULL));
}

/* Links are followed, what does not exist yet is appended. */
static void test_links(void **state)
{
	char dir[] = "/tmp/ioprobe-filter.XXXXXX", link[64], path[128], wanted[PATH_MAX + 16], real[PATH_MAX];
	struct filter filter;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_non_null(realpath(dir, real));
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(".", link), 0);
	snprintf(path, sizeof(path), "%s/./later//file", link);
	filter = with_paths(path, NULL);
	unlink(link);
	snprintf(wanted, sizeof(wanted), "%s/later/file", real);
	assert_true(filter_wants_file(&filter, S_IFREG, wanted));
	assert_false(filter_wants_file(&filter, S_IFREG, path));
	snprintf(path, sizeof(path), "%s/later/../up", dir);
	assert_int_equal(filter_add_paths(&filter, path, false, err, sizeof(err)), -EINVAL);
	rmdir(dir);
}

static void test_relative(void **state)
{
	char cwd[PATH_MAX], path[PATH_MAX + 16];
	struct filter filter = with_paths("not-there", NULL);

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(path, sizeof(path), "%s/not-there", strcmp(cwd, "/") ? cwd : "");
	assert_true(filter_wants_file(&filter, S_IFREG, path));
}

static void test_kinds(void **state)
{
	struct filter filter = { 0 };

	(void)state;
	assert_int_equal(filter_set_kinds(&filter, "regular,other", err, sizeof(err)), 0);
	assert_true(filter_wants_file(&filter, S_IFREG | 0644, "/a"));
	assert_true(filter_wants_file(&filter, 0600, NULL));
	assert_false(filter_wants_file(&filter, S_IFDIR, "/"));
	assert_int_equal(filter_set_kinds(&filter, "regular,tape", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "'tape'"));
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = { { "10us", 10000 }, { "1.5ms", 1500000 }, { "2s", 2000000000 }, { "7NS", 7 } };
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = { { "4096", 4096 }, { "4KiB", 4096 }, { "1m", 1 << 20 }, { "0", 0 } };
	static const char *const bad[] = { "", "x", "-1", "1xb", "1 s", "1e30s", "nan" };
	struct filter filter = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(filter_set_min_duration(&filter, times[i].text, err, sizeof(err)), 0);
		assert_int_equal(filter.min_duration_ns, times[i].ns);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(filter_set_min_bytes(&filter, sizes[i].text, err, sizeof(err)), 0);
		assert_int_equal(filter.min_bytes, sizes[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(filter_set_min_duration(&filter, bad[i], err, sizeof(err)), -EINVAL);
		assert_int_equal(filter_set_min_bytes(&filter, bad[i], err, sizeof(err)), -EINVAL);
	}
	assert_int_equal(filter_set_min_duration(&filter, "5", err, sizeof(err)), -EINVAL);
	assert_string_equal(filter.text[IOP_FILTER_DURATION], "--min-duration 7NS");
}

static void test_streams(void **state)
{
	struct filter filter = { 0 };

	(void)state;
	assert_int_equal(filter_set_stream_calls(&filter, "count", err, sizeof(err)), 0);
	assert_true(filter.count_streams);
	assert_int_equal(filter_set_stream_calls(&filter, "record", err, sizeof(err)), 0);
	assert_false(filter.count_streams);
	assert_string_equal(filter.text[IOP_FILTER_STREAMS], "");
	assert_int_equal(filter_set_stream_calls(&filter, "none", err, sizeof(err)), -EINVAL);
}

static void test_too_many(void **state)
{
	struct filter filter = { 0 };
	char name[600];

	(void)state;
	for (int i = 0; i < IOP_MAX_PATH_FILTERS; i++)
		assert_int_equal(filter_add_paths(&filter, "/nowhere", i % 2, err, sizeof(err)), 0);
	assert_int_equal(filter_add_paths(&filter, "/nowhere", false, err, sizeof(err)), -EINVAL);
	filter.npaths = 0;
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < 600; i += 100)
		name[i] = '/';
	name[599] = 0;
	assert_int_equal(filter_add_paths(&filter, name, false, err, sizeof(err)), -EINVAL);
	assert_int_equal(filter_add_paths(&filter, "", false, err, sizeof(err)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),    cmocka_unit_test(test_paths),   cmocka_unit_test(test_excluded),
		cmocka_unit_test(test_root),     cmocka_unit_test(test_links),   cmocka_unit_test(test_relative),
		cmocka_unit_test(test_kinds),    cmocka_unit_test(test_numbers), cmocka_unit_test(test_streams),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
