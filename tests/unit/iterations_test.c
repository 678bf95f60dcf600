/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An id of HDF5 begins with the kind of its object. Iterations pass ids to the program's functions: the order of the ids says to
 * which file an id belongs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static int kind_at = 56;         /* bit at which ids have their kind */
#define KIND(kind, n) ((int64_t)(kind) << kind_at | (n))
#define FILE_ID(n) KIND(1, n)
#define GROUP(n) KIND(2, n)
#define DATASET(n) KIND(5, n)
#define SPANS 256               /* as many are kept */

static uint64_t now;

static int setup(void **state)
{
	kind_at = 56;
	return sb_setup(state);
}

static void call(uint32_t tid, const char *function, int64_t ret, const struct sb_arg *args)
{
	sb_call(&sb, tid, function, now, now + 5, 0, ret, args);
	now += 10;
}

/* Two files, observed from the program's start. */
static void begin(void)
{
	now = 100;
	sb_exec(&sb, 100, now++, 100, "/bin/p");
	call(100, "H5Fopen", FILE_ID(0), ARGS(STR(PATH, "/a.h5"), ARG(FLAGS, 0)));
	call(100, "H5Fopen", FILE_ID(1), ARGS(STR(PATH, "/b.h5"), ARG(FLAGS, 0)));
}

static void iterate(uint32_t tid, int64_t id)
{
	call(tid, "H5Literate", 0, ARGS(ARG(HANDLE, id)));
}

static void open_group(int64_t in, const char *name, int64_t id)
{
	call(100, "H5Gopen2", id, ARGS(ARG(PARENT, in), STR(NAME, name)));
}

/* The function of an iteration reads a dataset, which it opens by the id that it is passed: thread, id, the new one. */
static void read_in(uint32_t tid, int64_t in, const char *name, int64_t id)
{
	call(tid, "H5Dopen2", id, ARGS(ARG(PARENT, in), STR(NAME, name)));
}

/* path NULL: unknown */
static void expect_file(const char *name, const char *path)
{
	for (size_t i = 0; i < sb.model.handles.n; i++) {
		const struct model_handle *handle = &sb.model.handles.v[i];

		if (strcmp(handle->name, name))
			continue;
		if (!path)
			assert_true(handle->file == REF_NONE);
		else
			assert_string_equal(sb.model.files.v[handle->file].path, path);
		return;
	}
	fail_msg("no handle %s", name);
}

static void replayed(void)
{
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
}

static void two_files(void **state)
{
	(void)state;
	begin();
	iterate(100, FILE_ID(0));
	open_group(GROUP(1), "g", GROUP(2));
	iterate(100, GROUP(2));
	read_in(100, GROUP(3), "one", DATASET(1));
	iterate(100, FILE_ID(1));
	read_in(100, GROUP(4), "four", DATASET(2));
	open_group(FILE_ID(1), "h", GROUP(5));
	iterate(100, GROUP(5));
	read_in(100, GROUP(6), "two", DATASET(3));
	read_in(100, GROUP(9), "three", DATASET(4));
	open_group(FILE_ID(0), "i", GROUP(11));
	read_in(100, GROUP(10), "late", DATASET(5));    /* the iteration over "h" has passed its id */
	replayed();
	expect_file("g", "/a.h5");
	expect_file("one", "/a.h5");
	expect_file("four", "/b.h5");
	expect_file("two", "/b.h5");
	expect_file("three", NULL);
	expect_file("late", NULL);
}

/* The id of the first iteration is known: the next one's is another. */
static void passed_between(void)
{
	begin();
	iterate(100, FILE_ID(0));
	read_in(100, GROUP(1), "one", DATASET(1));
	iterate(100, FILE_ID(1));
	read_in(100, GROUP(2), "two", DATASET(2));
	replayed();
	expect_file("one", "/a.h5");
	expect_file("two", "/b.h5");
}

static void none_made_between(void **state)
{
	(void)state;
	passed_between();
}

/* As before HDF5 1.10. */
static void ids_of_32_bits(void **state)
{
	(void)state;
	kind_at = 24;
	passed_between();
}

/* A dataset and an attribute of one name are two objects, whose kinds only their ids tell. */
static void same_name_at(int bit)
{
	const int64_t space = 0x400, attribute_space = 0x401;
	const int64_t type = sb_type(&sb, "HDF5", "H5T_NATIVE_DOUBLE_g");

	kind_at = bit;
	begin();
	sb_constants(&sb, 100, now++, "HDF5");
	call(100, "H5Screate_simple", space, ARGS(ARG(NDIMS, 1), ARRAY(DIMS, uint64_t, 200)));
	call(100, "H5Screate_simple", attribute_space, ARGS(ARG(NDIMS, 1), ARRAY(DIMS, uint64_t, 3)));
	call(100, "H5Dcreate2", DATASET(1), ARGS(ARG(PARENT, FILE_ID(0)), STR(NAME, "v"), ARG(TYPE, type), ARG(SPACE, space)));
	call(100, "H5Dclose", 0, ARGS(ARG(HANDLE, DATASET(1))));
	call(100, "H5Acreate2", KIND(6, 1),
	     ARGS(ARG(PARENT, FILE_ID(0)), STR(NAME, "v"), ARG(TYPE, type), ARG(SPACE, attribute_space)));
	call(100, "H5Aclose", 0, ARGS(ARG(HANDLE, KIND(6, 1))));
	call(100, "H5Dopen2", DATASET(2), ARGS(ARG(PARENT, FILE_ID(0)), STR(NAME, "v")));
	call(100, "H5Dread", 0, ARGS(ARG(HANDLE, DATASET(2)), ARG(TYPE, type), ARG(SPACE, 0), ARG(SPACE2, 0)));
	replayed();
	assert_non_null(strstr(sb.events, " 1600 #"));
	assert_null(strstr(sb.events, " 24 #"));
}

static void same_name(void **state)
{
	(void)state;
	same_name_at(56);
}

static void same_name_with_32_bits(void **state)
{
	(void)state;
	same_name_at(24);
}

static void either(void **state)
{
	(void)state;
	begin();
	iterate(100, FILE_ID(0));
	iterate(100, FILE_ID(1));
	read_in(100, GROUP(2), "two", DATASET(1));
	replayed();
	expect_file("two", NULL);
}

/* Files and types are not passed by iterations. */
static void other_kinds(void **state)
{
	(void)state;
	begin();
	iterate(100, FILE_ID(0));
	call(100, "H5Aopen", KIND(6, 1), ARGS(ARG(PARENT, KIND(3, 77)), STR(NAME, "of a type")));
	read_in(100, FILE_ID(7), "of a file", DATASET(1));
	replayed();
	expect_file("of a type", NULL);
	expect_file("of a file", NULL);
}

/* The order of several threads' calls need not be that of the ids; with one file there is no doubt. */
static void threads_on(bool both)
{
	begin();
	iterate(100, FILE_ID(0));
	read_in(100, GROUP(1), "one", DATASET(1));
	if (both)
		iterate(101, FILE_ID(1));
	read_in(101, GROUP(2), "two", DATASET(2));
	replayed();
	expect_file("one", "/a.h5");
	expect_file("two", both ? NULL : "/a.h5");
}

static void threads_on_one_file(void **state)
{
	(void)state;
	threads_on(false);
}

static void threads_on_two_files(void **state)
{
	(void)state;
	threads_on(true);
}

static void smaller_id(void **state)
{
	(void)state;
	begin();
	open_group(FILE_ID(0), "g", GROUP(9));
	open_group(FILE_ID(0), "h", GROUP(3));
	iterate(100, FILE_ID(0));
	iterate(100, FILE_ID(1));
	read_in(100, GROUP(10), "two", DATASET(2));
	replayed();
	expect_file("two", NULL);
}

/* Many iterations inside of one: its own id, used late, is of unknown origin, but not of another one's. */
static void many(void **state)
{
	(void)state;
	begin();
	iterate(100, FILE_ID(1));
	for (int i = 0; i < 2 * SPANS; i++) {
		open_group(FILE_ID(0), "g", GROUP(10 + 2 * i));
		iterate(100, GROUP(10 + 2 * i));
	}
	read_in(100, GROUP(1), "outer", DATASET(1));
	read_in(100, GROUP(11 + 2 * (2 * SPANS - 1)), "last", DATASET(2));
	replayed();
	expect_file("outer", NULL);
	expect_file("last", "/a.h5");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_files),            TEST(none_made_between),      TEST(either),     TEST(other_kinds),
		TEST(ids_of_32_bits),       TEST(same_name),              TEST(same_name_with_32_bits),
		TEST(threads_on_one_file),  TEST(threads_on_two_files),   TEST(smaller_id), TEST(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
