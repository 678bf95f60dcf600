/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sizes and names that no argument says: what definitions and inquiries teach, and what stays unknown.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

#define FILE_ID 0x10000
#define DATASET 0x500
#define SPACE 0x400
#define NATIVE_DOUBLE sb_type(&sb, "HDF5", "H5T_NATIVE_DOUBLE_g")

static uint64_t now;

static int setup(void **state)
{
	sb_setup(state);
	now = 100;
	return 0;
}

/* A call without children, after the ones before. */
static void call(const char *function, int64_t ret, const struct sb_arg *args)
{
	sb_call(&sb, 100, function, now, now + 5, 0, ret, args);
	now += 10;
}

/* Each operation as "requested>moved" or "requested>moved'variable'", in order; "?" is unknown. */
static void expect_sizes(const char *sizes)
{
	char *line, *save = NULL, *copy, got[2048] = "", begin[64], end[64];
	size_t n = 0;

	replay();
	copy = strdup(sb.events);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *name = strchr(line, '\'');

		if (sscanf(line, "%*s %*s begin %*s %*s %*s %63s", begin) == 1 && name)
			strncat(begin, name, strrchr(name, '\'') - name + 1);
		if (sscanf(line, "%*s %*s complete %*s %63s", end) == 1)
			n += snprintf(got + n, sizeof(got) - n, "%s%s>%s", n ? " " : "", begin, end);
	}
	free(copy);
	assert_string_equal(got, sizes);
}

/* ---- variables ---- */

static void open_file(void)
{
	call("nc_create", 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, FILE_ID)));
}

static void define(void)
{
	call("nc_def_dim", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(LENGTH, 4), ARG(DIM, 0)));
	call("nc_def_dim", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(LENGTH, 6), ARG(DIM, 1)));
	call("nc_def_dim", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(LENGTH, 0), ARG(DIM, 2)));
	call("nc_def_var", 0,
	     ARGS(ARG(HANDLE, FILE_ID), STR(NAME, "grid"), ARG(TYPE, 3), ARG(NDIMS, 2), ARRAY(DIMS, int32_t, 0, 1, 9, 9),
		  ARG(VARIABLE, 0)));
	call("nc_def_var", 0, ARGS(ARG(HANDLE, FILE_ID), STR(NAME, "log"), ARG(TYPE, 6), ARG(NDIMS, 1), ARRAY(DIMS, int32_t, 2),
				   ARG(VARIABLE, 1)));
	call("nc_def_var", 0, ARGS(ARG(HANDLE, FILE_ID), STR(NAME, "one"), ARG(TYPE, 12), ARG(NDIMS, 0), ARG(VARIABLE, 2)));
}

static void variables_defined(void **state)
{
	(void)state;
	open_file();
	define();
	call("nc_put_vara_double", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 2, 3, 99, 99)));
	call("nc_put_vara", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 2, 3)));
	call("nc_put_vara_float", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 2)));
	call("nc_put_var_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	call("nc_put_var1_uchar", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	call("nc_put_var_double", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 1)));
	call("nc_put_var_double", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 2)));
	call("nc_put_var", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 2)));
	call("nc_put_vara_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 7), ARRAY(EDGES, uint64_t, 2)));
	call("nc_put_vara_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 1ull << 62, 1ull << 62)));
	call("nc_put_vara_int", -40, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 2, 2)));
	call("nc_put_att_short", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARG(COUNT, 3)));
	call("nc_get_att_short", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, -1)));
	expect_sizes("48'grid'>48 12'grid'>12 ?'grid'>? 96'grid'>96 1'grid'>1 ?'log'>? 8'one'>8 ?'one'>? ?>? ?'grid'>? 16'grid'>? "
		     "6'grid'>6 ?>?");
	assert_int_equal(sb.model.totals.unknown_sizes, 6);
}

/* What was asked holds during the call in which it was asked; a library's own questions make the end of a call known. */
static void variables_asked(void **state)
{
	(void)state;
	open_file();
	call("nc_inq_varndims", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARG(NDIMS, 1)));
	call("nc_inq_vardimid", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(DIMS, int32_t, 5, 0, 0, 0)));
	call("nc_inq_dimlen", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(DIM, 5), ARG(LENGTH, 10)));
	call("nc_inq_varid", 0, ARGS(ARG(HANDLE, FILE_ID), STR(NAME, "v"), ARG(VARIABLE, 0)));
	call("nc_get_var_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	sb_enter(&sb, 100, "nc_get_var_int", now, now + 1, 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	sb_call(&sb, 100, "nc_inq_dimlen", now + 2, now + 3, 1, 0, ARGS(ARG(HANDLE, FILE_ID), ARG(DIM, 5), ARG(LENGTH, 11)));
	sb_exit(&sb, 100, "nc_get_var_int", now, now + 5, 0, 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	expect_sizes("?'v'>? ?'v'>44");
	for (size_t i = 0; i < sb.model.regions.n; i++)
		if (!strcmp(sb.model.regions.v[i].name, "nc_inq_dimlen"))
			assert_null(strstr(sb.events, "nc_inq_dimlen"));
}

/* Another file's variables of the same numbers, and those of a file that was closed. */
static void variables_end_with_their_file(void **state)
{
	(void)state;
	open_file();
	define();
	call("nc_close", 0, ARGS(ARG(HANDLE, FILE_ID)));
	open_file();
	call("nc_put_var_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	expect_sizes("?>?");
}

/* PnetCDF's flexible calls: count and datatype, if the MPI library is of the known ABI; -1 means the variable's own type. */
static void flexible(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LIBRARY, 100, 2, "layer=MPI-IO\npath=/l/libmpi.so\nabi=1\nparallel=1\n", NULL);
	call("ncmpi_create", 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 1)));
	call("ncmpi_def_var", 0,
	     ARGS(ARG(HANDLE, 1), STR(NAME, "v"), ARG(TYPE, 4), ARG(NDIMS, 1), ARRAY(DIMS, int32_t, 0), ARG(VARIABLE, 0)));
	call("ncmpi_put_vara_all", 0,
	     ARGS(ARG(HANDLE, 1), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 5), ARG(COUNT, 3), ARG(DATATYPE, 8)));
	call("ncmpi_put_vara_all", 0,
	     ARGS(ARG(HANDLE, 1), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 5), ARG(COUNT, -1), ARG(DATATYPE, 0)));
	expect_sizes("24'v'>24 20'v'>20");
}

/* ---- dataspaces and types ---- */

static void dataset(int64_t space)
{
	sb_constants(&sb, 100, now++, "HDF5");
	call("H5Fcreate", 7, ARGS(STR(PATH, "/h"), ARG(FLAGS, 2)));
	call("H5Screate_simple", SPACE, ARGS(ARG(NDIMS, 2), ARRAY(DIMS, uint64_t, 10, 20, 77)));
	call("H5Dcreate2", DATASET, ARGS(ARG(PARENT, 7), STR(NAME, "d"), ARG(TYPE, NATIVE_DOUBLE), ARG(SPACE, space)));
}

static void transfer(int64_t type, int64_t memory, int64_t file)
{
	call("H5Dwrite", 0, ARGS(ARG(HANDLE, DATASET), ARG(TYPE, type), ARG(SPACE, memory), ARG(SPACE2, file)));
}

static void selections(void **state)
{
	(void)state;
	dataset(SPACE);
	transfer(NATIVE_DOUBLE, 0, 0);
	call("H5Dget_space", 0x401, ARGS(ARG(HANDLE, DATASET)));
	call("H5Sselect_hyperslab", 0, ARGS(ARG(SPACE, 0x401), ARG(CMD, 0), ARRAY(EDGES, uint64_t, 2, 3, 5, 5), ARG(BLOCK, 0)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sselect_hyperslab", 0,
	     ARGS(ARG(SPACE, 0x401), ARG(CMD, 0), ARRAY(EDGES, uint64_t, 2, 3), ARRAY(BLOCK, uint64_t, 2, 2)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sselect_hyperslab", 0, ARGS(ARG(SPACE, 0x401), ARG(CMD, 1), ARRAY(EDGES, uint64_t, 1, 1), ARG(BLOCK, 0)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sget_select_npoints", 13, ARGS(ARG(SPACE, 0x401)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sselect_none", 0, ARGS(ARG(SPACE, 0x401)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sselect_all", 0, ARGS(ARG(SPACE, 0x401)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	call("H5Sselect_elements", 0, ARGS(ARG(SPACE, 0x401), ARG(CMD, 0), ARG(ITEMS, 3)));
	call("H5Scopy", 0x402, ARGS(ARG(SPACE, 0x401)));
	call("H5Sselect_elements", 0, ARGS(ARG(SPACE, 0x401), ARG(CMD, 6), ARG(ITEMS, 2)));
	transfer(NATIVE_DOUBLE, 0, 0x401);
	transfer(NATIVE_DOUBLE, 0x402, 0x999);
	transfer(NATIVE_DOUBLE, 0, 0x999);
	call("H5Screate", 0x403, ARGS(ARG(CMD, 0)));
	transfer(NATIVE_DOUBLE, 0x403, 0);
	call("H5Dset_extent", 0, ARGS(ARG(HANDLE, DATASET), ARRAY(DIMS, uint64_t, 1, 7)));
	transfer(NATIVE_DOUBLE, 0, 0);
	expect_sizes("1600>1600 48>48 192>192 ?>? 104>104 0>0 1600>1600 40>40 24>24 ?>? 8>8 56>56");
}

static void types(void **state)
{
	(void)state;
	dataset(SPACE);
	transfer(0x301, 0, 0);                  /* no record of it */
	call("H5Tcreate", 0x301, ARGS(ARG(BYTES, 24)));
	transfer(0x301, 0, 0);
	call("H5Tcopy", 0x302, ARGS(ARG(TYPE, sb_type(&sb, "HDF5", "H5T_C_S1_g"))));
	call("H5Tset_size", 0, ARGS(ARG(TYPE, 0x302), ARG(BYTES, 3)));
	transfer(0x302, 0, 0);
	call("H5Tset_size", 0, ARGS(ARG(TYPE, 0x302), ARG(BYTES, -1)));
	call("H5Tget_size", 8, ARGS(ARG(TYPE, 0x302)));
	transfer(0x302, 0, 0);
	call("H5Tget_native_type", 0x303, ARGS(ARG(TYPE, sb_type(&sb, "HDF5", "H5T_IEEE_F32BE_g"))));
	transfer(0x303, 0, 0);
	call("H5Tget_native_type", 0x304, ARGS(ARG(TYPE, 0x301)));      /* a compound may be larger in memory */
	transfer(0x304, 0, 0);
	call("H5Tequal", 1, ARGS(ARG(TYPE, 0x304), ARG(TYPE2, sb_type(&sb, "HDF5", "H5T_NATIVE_SHORT_g"))));
	transfer(0x304, 0, 0);
	call("H5Tpack", 0, ARGS(ARG(TYPE, 0x301)));
	transfer(0x301, 0, 0);
	call("H5Tget_size", 0, ARGS(ARG(TYPE, 0x301)));         /* failed */
	transfer(0x301, 0, 0);
	call("H5Tget_class", 9, ARGS(ARG(TYPE, 0x301)));
	call("H5Tget_size", 16, ARGS(ARG(TYPE, 0x301)));
	transfer(0x301, 0, 0);
	expect_sizes("?>1600 4800>1600 600>1600 ?>1600 800>1600 ?>1600 400>1600 ?>1600 ?>1600 ?>1600");
}

/* A dataset that was open before: its extent is known once the program asks; numbers of another process mean nothing. */
static void opened_before(void **state)
{
	(void)state;
	sb_constants(&sb, 100, now++, "HDF5");
	transfer(NATIVE_DOUBLE, 0, 0);
	call("H5Dget_space", SPACE, ARGS(ARG(HANDLE, DATASET)));
	call("H5Sget_simple_extent_dims", 2, ARGS(ARG(SPACE, SPACE), ARRAY(DIMS, uint64_t, 3, 4, 9)));
	transfer(NATIVE_DOUBLE, 0, 0);
	sb_call(&sb, 200, "H5Dwrite", now, now + 5, 0, 0,
		ARGS(ARG(HANDLE, DATASET), ARG(TYPE, NATIVE_DOUBLE), ARG(SPACE, SPACE), ARG(SPACE2, 0)));
	call("H5Tcreate", 0x301, ARGS(ARG(CMD, 6), ARG(BYTES, 24))); /* a compound: the file may have some of its members only */
	transfer(0x301, 0, 0);
	expect_sizes("?>? 96>96 ?>? ?>?");
}

/* A handle with several references ends with the last. */
static void references(void **state)
{
	(void)state;
	dataset(SPACE);
	call("H5Iinc_ref", 2, ARGS(ARG(HANDLE, DATASET)));
	call("H5Dclose", 0, ARGS(ARG(HANDLE, DATASET)));
	transfer(NATIVE_DOUBLE, 0, 0);
	call("H5Dclose", 0, ARGS(ARG(HANDLE, DATASET)));
	expect_sizes("1600>1600");
	assert_int_equal(sb.model.handles.n, 2);
	assert_non_null(strstr(sb.events, "destroy h1"));
}

/* What has not been used for long is forgotten, what is used stays. */
static void spaces_are_forgotten(void **state)
{
	(void)state;
	dataset(SPACE);
	call("H5Tcopy", 0x300, ARGS(ARG(TYPE, NATIVE_DOUBLE)));
	for (int i = 0; i < 20000; i++) {
		call("H5Screate_simple", 0x1000 + i, ARGS(ARG(NDIMS, 1), ARRAY(DIMS, uint64_t, 2)));
		if (i % 10000 == 0)
			call("H5Scopy", 0x900000 + i, ARGS(ARG(SPACE, SPACE)));
	}
	transfer(NATIVE_DOUBLE, SPACE, 0);
	transfer(NATIVE_DOUBLE, 0x1000, 0);
	transfer(0x300, 0, 0);
	expect_sizes("1600>1600 ?>? ?>1600");
}

/* netCDF-4: the dataset below gives the number of dimensions of the variable. */
static void rank_from_below(void **state)
{
	(void)state;
	open_file();
	dataset(SPACE);
	sb_enter(&sb, 100, "nc_get_vara_int", now, now + 1, 0,
		 ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 3), ARRAY(EDGES, uint64_t, 5, 6, 7)));
	sb_call(&sb, 100, "H5Dread", now + 2, now + 3, 1, 0,
		ARGS(ARG(HANDLE, DATASET), ARG(TYPE, NATIVE_DOUBLE), ARG(SPACE, 0), ARG(SPACE2, 0)));
	sb_exit(&sb, 100, "nc_get_vara_int", now, now + 5, 0, 0, NO_ARGS);
	expect_sizes("1600>1600 1600>120");
}

/* Begins a read of a variable of unknown type, with a read of its dataset inside. */
static void read_with_dataset(const char *function, int variable)
{
	sb_enter(&sb, 100, function, now, now + 1, 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, variable), UNREADABLE(EDGES)));
	sb_call(&sb, 100, "H5Dread", now + 2, now + 3, 1, 0,
		ARGS(ARG(HANDLE, DATASET), ARG(TYPE, NATIVE_DOUBLE), ARG(SPACE, 0), ARG(SPACE2, 0)));
}

static void read_ends(const char *function)
{
	sb_exit(&sb, 100, function, now, now + 5, 0, 0, NO_ARGS);
	now += 10;
}

/* A variable of unknown type: in memory its values are those of the dataset's call. */
static void bytes_from_below(void **state)
{
	(void)state;
	open_file();
	dataset(SPACE);
	for (int i = 0; i < 2; i++) {
		const char *function = i ? "nc_get_vara_int" : "nc_get_vara";

		read_with_dataset(function, 3 + i);
		read_ends(function);
	}
	expect_sizes("1600>1600 1600>1600 1600>1600 1600>?");
}

/* Another dataset's call may have been in the records that were lost. */
static void bytes_from_below_with_a_loss(void **state)
{
	(void)state;
	open_file();
	dataset(SPACE);
	read_with_dataset("nc_get_vara", 3);
	sb.seq[100]++;
	read_ends("nc_get_vara");
	read_with_dataset("nc_get_vara", 3);
	read_ends("nc_get_vara");
	expect_sizes("1600>1600 1600>? 1600>1600 1600>1600");
}

/* A filter may have excluded a part of the calls below. */
static void bytes_from_below_with_a_filter(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LEFT_OUT, 0, 1, "filter=--min-bytes 10\nlayer=POSIX\n", NULL);
	open_file();
	dataset(SPACE);
	read_with_dataset("nc_get_vara", 3);
	read_ends("nc_get_vara");
	expect_sizes("1600>1600 1600>?");
}

/* ---- headers ---- */

/* CDF-1: 3 records; time unlimited, x 5; double grid(time, x), int row(x). */
static const uint8_t header[] =
	"CDF\1\0\0\0\3" "\0\0\0\12\0\0\0\2" "\0\0\0\4time\0\0\0\0" "\0\0\0\1x\0\0\0\0\0\0\5" "\0\0\0\0\0\0\0\0"
	"\0\0\0\13\0\0\0\2" "\0\0\0\4grid\0\0\0\2\0\0\0\0\0\0\0\1" "\0\0\0\0\0\0\0\0" "\0\0\0\6\0\0\0\50\0\0\0\100"
	"\0\0\0\3row\0\0\0\0\1\0\0\0\1" "\0\0\0\0\0\0\0\0" "\0\0\0\4\0\0\0\24\0\0\1\0";
#define HEADER_LEN (sizeof(header) - 1)

/* Opens a file of which `len` bytes of the header are read, the first 40 twice. */
static void open_header(int flags, size_t len)
{
	sb_enter(&sb, 100, "nc_open", now, now + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, flags), ARG(HANDLE, 0)));
	sb_contents(&sb, 100, now + 2, 0, header, 40);
	sb_contents(&sb, 100, now + 3, 0, header, 50);
	sb_contents(&sb, 100, now + 4, len, header, 8);         /* behind a hole: not used */
	sb_contents(&sb, 100, now + 5, 50, header + 50, len - 50);
	sb_exit(&sb, 100, "nc_open", now, now + 7, 0, 0, ARGS(ARG(HANDLE, FILE_ID)));
	now += 10;
}

static void whole(const char *function, int variable)
{
	call(function, 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, variable)));
}

/* A file that is only read keeps its number of records until it is read again. */
static void header_defines(void **state)
{
	(void)state;
	open_header(0, HEADER_LEN);
	whole("nc_get_var", 0);
	whole("nc_get_var_short", 1);
	whole("nc_get_var_short", 2);
	call("nc_inq_dimlen", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(DIM, 0), ARG(LENGTH, 3)));      /* teaches nothing new */
	whole("nc_get_var", 0);
	call("nc_get_vara_float", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, uint64_t, 2, 3, 99)));
	call("nc_sync", 0, ARGS(ARG(HANDLE, FILE_ID)));
	whole("nc_get_var", 0);
	whole("nc_get_var", 1);
	call("nc_close", 0, ARGS(ARG(HANDLE, FILE_ID)));
	expect_sizes("120'grid'>120 10'row'>10 ?>? 120'grid'>120 24'grid'>24 ?>? ?'grid'>? 20'row'>20");
}

static void header_of_a_changing_file(void **state)
{
	(void)state;
	open_header(1, HEADER_LEN);
	whole("nc_get_var", 0);
	whole("nc_get_var", 1);
	expect_sizes("?'grid'>? 20'row'>20");
}

/* Only part of the header was recorded; contents outside of such calls are ignored. */
static void header_cut_off(void **state)
{
	(void)state;
	open_header(0, HEADER_LEN - 20);
	sb_contents(&sb, 100, now++, HEADER_LEN - 20, header + HEADER_LEN - 20, 20);
	whole("nc_get_var", 0);
	whole("nc_get_var", 1);
	expect_sizes("120'grid'>120 ?>?");
}

/* A callback of the open call opens another file, before or after the call reads its own: that one's header is not its. */
static void header_of_another_open(void **state)
{
	(void)state;
	for (int after = 0; after < 2; after++) {
		sb_enter(&sb, 100, "nc_open", now, now + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
		if (after)
			sb_contents(&sb, 100, now + 2, 0, header, 40);
		sb_enter(&sb, 100, "ncmpi_open", now + 3, now + 4, 1, ARGS(STR(PATH, "/other"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
		sb_contents(&sb, 100, now + 5, 0, header, HEADER_LEN);
		sb_exit(&sb, 100, "ncmpi_open", now + 3, now + 6, 1, 0, ARGS(ARG(HANDLE, 7)));
		sb_exit(&sb, 100, "nc_open", now, now + 7, 0, 0, ARGS(ARG(HANDLE, FILE_ID)));
		now += 10;
		whole("nc_get_var", 1);
		call("ncmpi_get_var_int_all", 0, ARGS(ARG(HANDLE, 7), ARG(VARIABLE, 1)));
		call("ncmpi_close", 0, ARGS(ARG(HANDLE, 7)));
		call("nc_close", 0, ARGS(ARG(HANDLE, FILE_ID)));
	}
	expect_sizes("?>? 20'row'>20 ?>? 20'row'>20");
}

/* netCDF has PnetCDF open its file. */
static void header_of_the_layer_below(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_open_par", now, now + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	sb_contents(&sb, 100, now + 2, 0, header, 4);
	sb_enter(&sb, 100, "ncmpi_open", now + 3, now + 4, 1, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	sb_contents(&sb, 100, now + 5, 0, header, HEADER_LEN);
	sb_exit(&sb, 100, "ncmpi_open", now + 3, now + 6, 1, 0, ARGS(ARG(HANDLE, 7)));
	sb_exit(&sb, 100, "nc_open_par", now, now + 7, 0, 0, ARGS(ARG(HANDLE, FILE_ID)));
	now += 10;
	whole("nc_get_var", 1);
	expect_sizes("20'row'>20");
}

/* A record without bytes: two files were read that begin like that. */
static void header_of_one_of_two_files(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_open", now, now + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	sb_contents(&sb, 100, now + 2, 0, header, HEADER_LEN);
	sb_contents(&sb, 100, now + 3, 0, header, 0);
	sb_contents(&sb, 100, now + 4, 0, header, HEADER_LEN);
	sb_exit(&sb, 100, "nc_open", now, now + 7, 0, 0, ARGS(ARG(HANDLE, FILE_ID)));
	now += 10;
	whole("nc_get_var", 1);
	expect_sizes("?>?");
}

/* That another file has a header, too, may be in a lost record. */
static void header_before_a_loss(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "nc_open", now, now + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 0)));
	sb_contents(&sb, 100, now + 2, 0, header, HEADER_LEN);
	sb.seq[100]++;
	sb_exit(&sb, 100, "nc_open", now, now + 7, 0, 0, ARGS(ARG(HANDLE, FILE_ID)));
	now += 10;
	whole("nc_get_var", 1);
	expect_sizes("?>?");
}

/* ---- several pieces ---- */

#define PIECES(...) { ROLE_PIECES, 1, (const char *)(const struct iop_pieces[]){ __VA_ARGS__ }, \
		      sizeof((const struct iop_pieces[]){ __VA_ARGS__ }) }

/* PnetCDF's varn, mput and mget: sums of products, of which the number of dimensions selects one. */
static void several_pieces(void **state)
{
	const struct iop_pieces two = { .values = 8, .pieces = 2, .elements = { 3, 7, 70 } };
	const struct iop_pieces log = { .variable = 1, .values = 8, .pieces = 1, .elements = { 5, 50 } };
	const struct iop_pieces cut = { .values = 1, .pieces = 1, .elements = { 3 } };
	const struct iop_pieces strange = { .variable = 9, .values = 8, .pieces = 1, .elements = { 3, 3 } };

	(void)state;
	call("ncmpi_create", 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 3)));
	call("ncmpi_def_dim", 0, ARGS(ARG(HANDLE, 3), ARG(LENGTH, 4), ARG(DIM, 0)));
	call("ncmpi_def_var", 0, ARGS(ARG(HANDLE, 3), STR(NAME, "grid"), ARG(TYPE, 3), ARG(NDIMS, 2), ARRAY(DIMS, int32_t, 0, 0),
				      ARG(VARIABLE, 0)));
	call("ncmpi_def_var", 0, ARGS(ARG(HANDLE, 3), STR(NAME, "log"), ARG(TYPE, 6), ARG(NDIMS, 1), ARRAY(DIMS, int32_t, 0),
				      ARG(VARIABLE, 1)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 2), PIECES(two)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 2), PIECES(cut)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 600), UNREADABLE(PIECES)));
	call("ncmpi_mput_vara_double_all", 0, ARGS(ARG(HANDLE, 3), ARG(ITEMS, 3), PIECES(two, log)));
	call("ncmpi_mput_vara_double_all", 0, ARGS(ARG(HANDLE, 3), ARG(ITEMS, 3), PIECES(two, strange)));
	call("ncmpi_mget_var_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(ITEMS, 3), PIECES(two, log)));
	call("ncmpi_mput_var1_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(ITEMS, 2)));
	expect_sizes("28'grid'>28 ?'grid'>? ?'grid'>? 96>96 ?>? 144>144 8>8");
}

/* No pieces move nothing, whatever the array behind the pointer holds. */
static void no_pieces(void **state)
{
	(void)state;
	call("ncmpi_create", 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 3)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 0), UNREADABLE(PIECES)));
	call("ncmpi_mput_vara_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(ITEMS, 0), UNREADABLE(PIECES)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 1), UNREADABLE(PIECES)));
	expect_sizes("0>0 0>0 ?>?");
}

/* A damaged record: more dimensions and values than a record has room for. */
static void more_dimensions_than_pieces_hold(void **state)
{
	const struct iop_pieces damaged = { .values = 0xffffffff, .pieces = 1, .elements = { 3 } };

	(void)state;
	call("ncmpi_create", 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 0), ARG(HANDLE, 3)));
	call("ncmpi_inq_varndims", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(NDIMS, 1000000)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 1), PIECES(damaged)));
	call("ncmpi_inq_varndims", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(NDIMS, 1)));
	call("ncmpi_put_varn_int_all", 0, ARGS(ARG(HANDLE, 3), ARG(VARIABLE, 0), ARG(ITEMS, 1), PIECES(damaged)));
	expect_sizes("?>? 12>12");
}

/* ---- arrays that are not what the model expects ---- */

/* More elements than any call sends. */
static void long_arrays(void **state)
{
	static const int32_t dims[500] = { 0, 1 };
	const struct sb_arg many = { ROLE_DIMS, 1, (const char *)dims, sizeof(dims) };

	(void)state;
	open_file();
	define();
	call("nc_def_var", 0,
	     (struct sb_arg[]){ ARG(HANDLE, FILE_ID),
				STR(NAME, "v"),
				ARG(TYPE, 4),
				ARG(NDIMS, 2),
				many,
				ARG(VARIABLE, 3),
				{ ROLE_NONE, 0, NULL, 0 } });
	call("nc_put_var_int", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 3)));
	expect_sizes("96'v'>96");
}

/* A site's table says how wide the elements are. */
static void arrays_of_other_widths(void **state)
{
	(void)state;
	sb_table(&sb, "layer SITE\n  paradigm SITE \"Site\" serial\n  libraries libsite.so*\n  success zero\n  handles id int mask "
		      "0xffffffff\n"
		      "  type 4 4\n\n"
		      "site_open open path out:handle -> status\n"
		      "site_dim meta handle length out:dim -> status\n"
		      "site_def meta handle name type ndims dims:longs out:variable -> status\n"
		      "site_put write,whole handle variable -buf -> status\n"
		      "site_put_part write handle variable edges:ints -buf -> status\n");
	call("site_open", 0, ARGS(STR(PATH, "/f"), ARG(HANDLE, FILE_ID)));
	call("site_dim", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(LENGTH, 4), ARG(DIM, 0)));
	call("site_dim", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(LENGTH, 6), ARG(DIM, 1)));
	call("site_def", 0,
	     ARGS(ARG(HANDLE, FILE_ID), STR(NAME, "v"), ARG(TYPE, 4), ARG(NDIMS, 2), ARRAY(DIMS, int64_t, 0, 1, 9, 9, 9, 9, 9, 9),
		  ARG(VARIABLE, 0)));
	call("site_put", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0)));
	call("site_put_part", 0, ARGS(ARG(HANDLE, FILE_ID), ARG(VARIABLE, 0), ARRAY(EDGES, int32_t, 2, 3, 9)));
	expect_sizes("96'v'>96 24'v'>24");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(variables_defined, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(variables_asked, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(variables_end_with_their_file, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(flexible, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(selections, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(types, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(opened_before, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(references, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(spaces_are_forgotten, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(rank_from_below, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(bytes_from_below, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(bytes_from_below_with_a_loss, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(bytes_from_below_with_a_filter, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_defines, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_of_a_changing_file, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_cut_off, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_of_another_open, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_of_the_layer_below, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_of_one_of_two_files, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(header_before_a_loss, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(several_pieces, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(no_pieces, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(more_dimensions_than_pieces_hold, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(long_arrays, setup, sb_teardown),
		cmocka_unit_test_setup_teardown(arrays_of_other_widths, setup, sb_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
