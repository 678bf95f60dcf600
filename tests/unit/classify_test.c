/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which files of a run are data, and which belong to the system, to programs, to logs.
 */
#include "analysis/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static enum file_class class_of(const char *name, bool directory)
{
	const struct trace_mount mount = { .fs_type = "ext4" };
	const struct trace_file file = { .name = name, .mount = &mount, .directory = directory };

	return classify_file(&file);
}

static void interpreters(void **state)
{
	static const char *const names[] = {
		"/home/u/.pyenv/versions/3.11.4/lib/libpython3.11.a",
		"/home/u/.pyenv/shims/python",
		"/home/u/env/lib/python3.11/site-packages/numpy/core/numeric.dat",
		"/home/u/env/lib/python3.11/site-packages",
		"/opt/conda/lib/python3.12/encodings",
		"/opt/conda/lib/python311.zip",
		"/opt/conda/conda-meta/history",
		"/home/u/env/pyvenv.cfg",
		"/scratch/run/__pycache__/model.cpython-311.pyc.140",
		"/home/u/run/model.py",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(class_of(names[i], false), FILE_PROGRAM);
}

static void data(void **state)
{
	static const char *const names[] = { "/home/u/pyenv/out.nc", "/home/u/lib/python/out.nc", "/scratch/python3.11/out.h5",
					     "/data/conda/x", "relative.dat" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(class_of(names[i], false), FILE_DATA);
}

static void others(void **state)
{
	(void)state;
	assert_int_equal(class_of("/proc/self/maps", false), FILE_SYSTEM);
	assert_int_equal(class_of("/home/u", true), FILE_SYSTEM);
	assert_int_equal(class_of("/home/u/run.log", false), FILE_LOG);
	assert_int_equal(class_of("anon_inode:[eventfd]", false), FILE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(interpreters), cmocka_unit_test(data), cmocka_unit_test(others) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
