/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts: which lists and handles they are of, what stays unknown, how many are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static uint64_t now;

static int setup(void **state)
{
	sb_setup(state);
	now = 100;
	return 0;
}

static void call(const char *function, int64_t ret, const struct sb_arg *args)
{
	sb_call(&sb, 100, function, now, now + 5, 0, ret, args);
	now += 10;
}

/* A process that was observed from its start: unknown lists have their initial properties. */
static void from_start(void)
{
	sb_exec(&sb, 100, now++, 100, "/bin/p");
}

/* Replays; all facts of one name, "OBJECT=VALUE" separated by blanks. */
static void expect_facts(const char *name, const char *facts)
{
	char got[2048] = "";

	for (size_t i = 0; i < sb.model.facts.n; i++) {
		const struct model_fact *fact = &sb.model.facts.v[i];
		char *text = model_fact_text(fact);

		if (!strcmp(fact->name, name))
			sprintf(got + strlen(got), "%s%s=%s", got[0] ? " " : "", fact->object, text);
		free(text);
	}
	assert_string_equal(got, facts);
}

static void open_hdf5(void)
{
	sb_constants(&sb, 100, now++, "HDF5");
	call("H5Fcreate", 7, ARGS(STR(PATH, "/h"), ARG(FLAGS, 2), ARG(LIST2, 0)));
}

static void make_dataset(const char *name, int64_t id, int64_t list)
{
	call("H5Dcreate2", id, ARGS(ARG(PARENT, 7), STR(NAME, name), ARG(TYPE, 1), ARG(SPACE, 1), ARG(LIST, list), ARG(LIST2, 0)));
}

/* Copies have what was set before; what is set later belongs to one list. */
static void lists(void **state)
{
	(void)state;
	from_start();
	open_hdf5();
	call("H5Pset_chunk", 0, ARGS(ARG(LIST, 0xa1), ARG(NDIMS, 2), ARRAY(FACT, uint64_t, 4, 8, 99)));
	call("H5Pcopy", 0xa2, ARGS(ARG(TRANSFER, 0xa1)));
	call("H5Pset_shuffle", 0, ARGS(ARG(LIST, 0xa2)));
	call("H5Pset_deflate", 0, ARGS(ARG(LIST, 0xa2), ARG(FACT, 6)));
	call("H5Pset_filter", 0, ARGS(ARG(LIST, 0xa2), ARG(FACT, 32015)));
	call("H5Pset_chunk", -1, ARGS(ARG(LIST, 0xa2), ARG(NDIMS, 2), ARRAY(FACT, uint64_t, 5, 5)));    /* it failed */
	make_dataset("a", 0x11, 0xa1);
	make_dataset("b", 0x12, 0xa2);
	make_dataset("c", 0x13, 0);
	make_dataset("d", 0x14, 0xa3);          /* initial */
	call("H5Pset_layout", 0, ARGS(ARG(LIST, 0xa1), ARG(FACT, 1)));
	make_dataset("e", 0x15, 0xa1);          /* its chunk shape no longer holds */
	call("H5Premove_filter", 0, ARGS(ARG(LIST, 0xa2)));
	make_dataset("f", 0x16, 0xa2);
	replay();
	expect_facts("Layout", "a=chunked b=chunked c=contiguous d=contiguous e=contiguous f=chunked");
	expect_facts("Chunk Shape", "a=4,8 b=4,8 f=4,8");
	expect_facts("Filters", "a=none b=shuffle, deflate, zstd c=none d=none e=none");
	expect_facts("Deflate Level", "b=6 f=6");
	assert_int_equal(sb.model.totals.facts_unknown, 1);
}

/* In a process that ran before: what was set is known, what may have been set before is not. */
static void attached(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, now++, "comm=p\n", NULL);
	open_hdf5();
	call("H5Pset_chunk", 0, ARGS(ARG(LIST, 0xa1), ARG(NDIMS, 1), ARRAY(FACT, uint64_t, 4)));
	call("H5Pset_shuffle", 0, ARGS(ARG(LIST, 0xa1)));
	make_dataset("a", 0x11, 0xa1);
	make_dataset("b", 0x12, 0xa2);
	make_dataset("c", 0x13, 0);
	replay();
	expect_facts("Chunk Shape", "a=4");
	expect_facts("Layout", "a=chunked c=contiguous");
	expect_facts("Filters", "c=none");
	assert_int_equal(sb.model.totals.facts_unknown, 2);
}

/* An opened dataset has the facts that its list was asked for, as often as it is. */
static void asked(void **state)
{
	(void)state;
	from_start();
	open_hdf5();
	call("H5Dopen2", 0x11, ARGS(ARG(PARENT, 7), STR(NAME, "a"), ARG(LIST2, 0)));
	call("H5Dopen2", 0x12, ARGS(ARG(PARENT, 7), STR(NAME, "b"), ARG(LIST2, 0)));
	call("H5Dget_create_plist", 0xa1, ARGS(ARG(HANDLE, 0x11)));
	call("H5Pget_layout", 2, ARGS(ARG(LIST, 0xa1)));
	for (int i = 0; i < 2; i++) {
		call("H5Pget_filter2", 2, ARGS(ARG(LIST, 0xa1)));
		call("H5Pget_filter2", 1, ARGS(ARG(LIST, 0xa1)));
	}
	replay();
	expect_facts("Layout", "a=chunked");
	expect_facts("Filters", "a=shuffle, deflate");
	assert_int_equal(sb.model.totals.facts_unknown, 1);
}

/* Hints belong to the set that was given; a set asked of a file says what is in use; addresses are used again. */
static void hints(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LIBRARY, 100, now++, "layer=MPI-IO\nfile=libmpi.so.40.30.4\nabi=1\nparallel=1\n", NULL);
	call("MPI_Info_create", 0, ARGS(ARG(INFO_OUT, 0x1000)));
	call("MPI_Info_set", 0, ARGS(ARG(INFO, 0x1000), STR(HINT, "a"), STR(VALUE, "1")));
	call("MPI_Info_set", 0, ARGS(ARG(INFO, 0x1000), STR(HINT, "b"), STR(VALUE, "2")));
	call("MPI_Info_delete", 0, ARGS(ARG(INFO, 0x1000), STR(HINT, "b")));
	call("MPI_Info_dup", 0, ARGS(ARG(INFO, 0x1000), ARG(INFO_OUT, 0x2000)));
	call("MPI_Info_free", 0, ARGS(ARG(INFO, 0x1000)));
	call("MPI_File_open", 0, ARGS(ARG(COMM, 1), STR(PATH, "/f"), ARG(FLAGS, 8), ARG(INFO, 0x2000), ARG(HANDLE, 0x55)));
	call("MPI_File_open", 0, ARGS(ARG(COMM, 1), STR(PATH, "/g"), ARG(FLAGS, 8), ARG(INFO, 0x1000), ARG(HANDLE, 0x66)));
	call("MPI_File_get_info", 0, ARGS(ARG(HANDLE, 0x55), ARG(INFO_OUT, 0x1000)));
	call("MPI_Info_get", 0, ARGS(ARG(INFO, 0x1000), STR(HINT, "a"), STR(VALUE, "9"), ARG(DONE, 1)));
	call("MPI_Info_get", 0, ARGS(ARG(INFO, 0x1000), STR(HINT, "b"), STR(VALUE, "x"), ARG(DONE, 0)));
	call("MPI_Info_get", 0, ARGS(ARG(INFO, 0x2000), STR(HINT, "a"), STR(VALUE, "8"), ARG(DONE, 1)));
	call("MPI_File_set_atomicity", 0, ARGS(ARG(HANDLE, 0x55), ARG(FACT, 1)));
	call("MPI_File_set_atomicity", 0, ARGS(ARG(HANDLE, 0x55), ARG(FACT, 0)));
	replay();
	expect_facts("Hint a", "=1");
	expect_facts("Hint b", "");
	expect_facts("Hint in Use a", "=9");
	expect_facts("Hint in Use b", "=not set");
	expect_facts("Atomicity", "=on | off");
	expect_facts("Library", "=libmpi.so.40.30.4 =libmpi.so.40.30.4");
	expect_facts("Library Version", "");
	assert_int_equal(sb.model.totals.facts_unknown, 2);     /* the implementation of both files */
}

/* The module of the library that opens the file, inside the call. */
static void implementation(void **state)
{
	const struct sb_arg *args = ARGS(ARG(COMM, 1), STR(PATH, "/f"), ARG(FLAGS, 8), ARG(INFO, 0), ARG(HANDLE, 0x55));

	(void)state;
	sb_enter(&sb, 100, "MPI_File_open", 10, 11, 0, args);
	sb_call(&sb, 100, "mca_io_ompio_file_open", 12, 13, 1, 1, NO_ARGS);             /* it failed */
	sb_call(&sb, 100, "mca_io_romio_dist_MPI_File_open", 14, 15, 1, 0, NO_ARGS);
	sb_exit(&sb, 100, "MPI_File_open", 10, 20, 0, 0, args);
	replay();
	expect_facts("Implementation", "=ROMIO");
	assert_int_equal(sb.model.totals.facts_unknown, 1);     /* the library's version */
}

/* The version is what the library's symbol or file name says, else it is unknown. */
static void library_version(void **state)
{
	static const char *const libraries[] = { "file=libmpich.so.12.2.2\nversion=4.0.2\n", "file=libmpi.so.40.30.4\n",
		"file=libmpi.so\n", "file=app\n", "" };
	char text[256], path[] = "/0";

	(void)state;
	for (int i = 0; i < 5; i++, path[1]++) {
		snprintf(text, sizeof(text), "layer=MPI-IO\nnarrow=1\n%s", libraries[i]);
		sb_text(&sb, IOP_REC_LIBRARY, 100, now++, text, NULL);
		call("MPI_File_open", 0, ARGS(ARG(COMM, 1), STR(PATH, path), ARG(FLAGS, 8), ARG(INFO, 0), ARG(HANDLE, 0x55 + i)));
	}
	replay();
	expect_facts("Library", "=libmpich.so.12.2.2 =libmpi.so.40.30.4 =libmpi.so =app");
	expect_facts("Library Version", "=4.0.2");
	assert_int_equal(sb.model.totals.facts_unknown, 3);
}

/* Four values are kept of a fact, and 16384 facts. */
static void bounds(void **state)
{
	char name[32];

	(void)state;
	from_start();
	open_hdf5();
	for (int i = 0; i < 6; i++)
		call("H5Fcreate", 8 + i, ARGS(STR(PATH, "/m"), ARG(FLAGS, 2), ARG(LIST2, 0)));
	call("nc_create", 0, ARGS(STR(PATH, "/n"), ARG(FLAGS, 0), ARG(HANDLE, 0x10000)));
	for (int i = 0; i < 6; i++)
		call("nc_def_var_szip", 0, ARGS(ARG(HANDLE, 0x10000), ARG(VARIABLE, 0), ARG(FACT, i)));
	for (int i = 0; i < 3400; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		make_dataset(name, 1000 + i, 0);
	}
	replay();
	expect_facts("Szip Pixels", "variable 0=0 | 1 | 2 | 3 | …");
	assert_int_equal(sb.model.facts.n, 16384);
	assert_int_equal(sb.model.totals.facts_beyond, 3400 * 5 + 1 - 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lists, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(attached, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(asked, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(hints, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(implementation, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(library_version, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(bounds, setup, sb_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
