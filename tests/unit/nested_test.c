/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls of one library that call each other count once; what is found out late about handles still reaches their definitions.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "replay_fixture.h"

static void expect_path(size_t ref, const char *path)
{
	assert_true(ref < sb.model.handles.n);
	assert_true(sb.model.handles.v[ref].file != REF_NONE);
	assert_string_equal(sb.model.files.v[sb.model.handles.v[ref].file].path, path);
}

static void inner_operation(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "getline", 10, 11, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "getdelim", 12, 13, 1, 5, ARGS(ARG(HANDLE, 0x700)));
	sb_exit(&sb, 100, "getline", 10, 20, 0, 5, NO_ARGS);
	/* another stream, and another operation, are their own */
	sb_enter(&sb, 100, "getline", 30, 31, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "getdelim", 32, 33, 1, 3, ARGS(ARG(HANDLE, 0x800)));
	sb_call(&sb, 100, "fflush", 34, 35, 1, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_exit(&sb, 100, "getline", 30, 40, 0, 4, NO_ARGS);
	expect("100 @10 enter getline\n100 @10 begin h0 m0 f0 ? #1\n100 @12 enter getdelim\n100 @13 leave getdelim\n"
	       "100 @20 complete h0 5 #1\n100 @20 leave getline\n"
	       "100 @30 enter getline\n100 @30 begin h0 m0 f0 ? #2\n"
	       "100 @32 enter getdelim\n100 @32 begin h1 m0 f0 ? #3\n100 @33 complete h1 3 #3\n100 @33 leave getdelim\n"
	       "100 @34 enter fflush\n100 @34 begin h0 m2 f0 ? #4\n100 @35 complete h0 ? #4\n100 @35 leave fflush\n"
	       "100 @40 complete h0 4 #2\n100 @40 leave getline\n");
}

static void inner_create(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_create", 10, 11, 0, ARGS(STR(PATH, "/a.nc"), ARG(FLAGS, 4)));
	sb_enter(&sb, 100, "nc__create", 12, 13, 1, ARGS(STR(PATH, "/a.nc"), ARG(FLAGS, 4)));
	sb_exit(&sb, 100, "nc__create", 12, 14, 1, 0, ARGS(ARG(HANDLE, 0x10000)));
	sb_exit(&sb, 100, "nc_create", 10, 15, 0, 0, ARGS(ARG(HANDLE, 0x10000)));
	sb_call(&sb, 100, "nc_close", 20, 21, 0, 0, ARGS(ARG(HANDLE, 0x10000)));
	expect("100 @10 enter nc_create\n100 @12 enter nc__create\n100 @14 leave nc__create\n"
	       "100 @15 create h0 m2 c9 s0\n100 @15 leave nc_create\n"
	       "100 @20 enter nc_close\n100 @21 destroy h0\n100 @21 leave nc_close\n");
	assert_int_equal(sb.model.handles.n, 1);
}

/* A file that is opened while another one is being opened is no inner call. */
static void other_file_inside(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_open", 10, 11, 0, ARGS(STR(PATH, "/a.nc"), ARG(FLAGS, 0)));
	sb_enter(&sb, 100, "nc_open", 12, 13, 1, ARGS(STR(PATH, "/b.nc"), ARG(FLAGS, 0)));
	sb_exit(&sb, 100, "nc_open", 12, 14, 1, 0, ARGS(ARG(HANDLE, 0x20000)));
	sb_exit(&sb, 100, "nc_open", 10, 15, 0, 0, ARGS(ARG(HANDLE, 0x10000)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.handles.n, 2);
	expect_path(0, "/b.nc");
	expect_path(1, "/a.nc");
	assert_int_equal(sb.model.handles.v[0].parent, REF_NONE);
}

static void inner_close(void **state)
{
	(void)state;
	sb_call(&sb, 100, "popen", 5, 6, 0, 0x700, ARGS(STR(STREAM_MODE, "r")));
	sb_enter(&sb, 100, "pclose", 10, 11, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fclose", 12, 13, 1, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_exit(&sb, 100, "pclose", 10, 20, 0, 0, NO_ARGS);
	expect("100 @5 enter popen\n100 @6 create h0 m0 c0 s0\n100 @6 leave popen\n"
	       "100 @10 enter pclose\n100 @12 enter fclose\n100 @13 destroy h0\n100 @13 leave fclose\n100 @20 leave pclose\n");
}

/* What is opened in an object of unknown origin is on that object's file, which is found when it is read. */
static void file_of_children(void **state)
{
	(void)state;
	sb_call(&sb, 100, "H5Aopen", 10, 11, 0, 0x600000001, ARGS(ARG(PARENT, 0x500000001), STR(NAME, "units")));
	sb_fd(&sb, 100, 22, 5, "/x.h5", O_RDONLY, 0);
	sb_enter(&sb, 100, "H5Dread", 20, 21, 0, ARGS(ARG(HANDLE, 0x500000001)));
	sb_call(&sb, 100, "pread64", 23, 24, 1, 8, ARGS(ARG(HANDLE, 5), ARG(BYTES, 8), ARG(OFFSET, 0)));
	sb_exit(&sb, 100, "H5Dread", 20, 30, 0, 0, NO_ARGS);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.handles.n, 3);
	assert_int_equal(sb.model.handles.v[1].parent, 0);
	assert_string_equal(sb.model.handles.v[1].name, "units");
	expect_path(0, "/x.h5");
	expect_path(1, "/x.h5");
}

static void open_file(const char *path, int64_t id, uint64_t t)
{
	sb_enter(&sb, 100, "H5Fopen", t, t + 1, 1, ARGS(STR(PATH, path), ARG(FLAGS, 0)));
	sb_open(&sb, 100, t + 2, t + 3, 2, 5, path, O_RDONLY);
	sb_exit(&sb, 100, "H5Fopen", t, t + 4, 1, id, NO_ARGS);
}

/* nc_open > H5Literate (not probed) > a callback that gets an identifier: it is in the file, and so is what is opened in it. */
static void unseen_identifier(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_open", 10, 11, 0, ARGS(STR(PATH, "/x.nc"), ARG(FLAGS, 0)));
	open_file("/x.nc", 0x100000001, 12);
	sb_call(&sb, 100, "H5Dopen2", 20, 21, 1, 0x500000001, ARGS(ARG(PARENT, 0x200000007), STR(NAME, "field")));
	/* a stream that is used meanwhile has nothing to do with it */
	sb_call(&sb, 100, "fputc", 22, 23, 1, 'x', ARGS(ARG(HANDLE, 0x700)));
	sb_exit(&sb, 100, "nc_open", 10, 30, 0, 0, ARGS(ARG(HANDLE, 0x10000)));
	/* outside of any call that knows a file */
	sb_call(&sb, 100, "H5Dread", 40, 41, 0, 0, ARGS(ARG(HANDLE, 0x500000009)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.handles.n, 7);
	for (size_t i = 0; i < 5; i++)
		expect_path(i, "/x.nc");
	assert_true(sb.model.handles.v[3].precreated);
	assert_int_equal(sb.model.handles.v[3].parent, 1);      /* H5Fopen's */
	assert_string_equal(sb.model.handles.v[4].name, "field");
	assert_int_equal(sb.model.handles.v[4].parent, 3);
	assert_int_equal(sb.model.handles.v[5].file, REF_NONE);
	assert_int_equal(sb.model.handles.v[6].file, REF_NONE);
	assert_int_equal(sb.model.handles.v[6].parent, REF_NONE);
}

/* The stream stdout is on descriptor 1, which may be seen later than the stream. */
static void stream_before_descriptor(void **state)
{
	(void)state;
	sb_call(&sb, 100, "puts", 10, 11, 0, 4, NO_ARGS);
	sb_fd(&sb, 100, 19, 1, "/out", O_WRONLY, 0);
	sb_call(&sb, 100, "write", 20, 21, 0, 4, ARGS(ARG(HANDLE, 1), ARG(BYTES, 4)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_string_equal(sb.model.handles.v[0].name, "stdout");
	expect_path(0, "/out");
	expect_path(1, "/out");
}

static void pipes_are_special(void **state)
{
	(void)state;
	sb_fd_special(&sb, 100, 10, 5, S_IFIFO | 0600, 42);
	sb_call(&sb, 100, "read", 11, 12, 0, 4, ARGS(ARG(HANDLE, 5), ARG(BYTES, 4)));
	sb_open(&sb, 100, 20, 21, 0, 6, "/f", O_RDONLY);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.files.n, 2);
	assert_true(sb.model.files.v[0].special);
	assert_false(sb.model.files.v[1].special);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inner_operation),  TEST(inner_create),      TEST(other_file_inside),        TEST(inner_close),
		TEST(file_of_children), TEST(unseen_identifier), TEST(stream_before_descriptor), TEST(pipes_are_special),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
