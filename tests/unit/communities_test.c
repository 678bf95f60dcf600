/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Who the members of a communicator are, from the calls that make it: and when that is unknown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

enum { RANKS = 4, WORLD = 0x1000, SELF = 0x2000, MADE = 0x3000 };

/* Rank r is process 100 * (r + 1), whose MPI library begins. */
static uint32_t pid(int rank)
{
	return 100 * (rank + 1);
}

static int setup(void **state)
{
	sb_setup(state);
	for (int r = 0; r < RANKS; r++) {
		sb_rank(&sb, pid(r), r);
		sb_text(&sb, IOP_REC_LIBRARY, pid(r), 2, "layer=MPI\npath=/lib/libmpi.so\nabi=1\n", NULL);
		sb_call(&sb, pid(r), "MPI_Init", 5, 6, 0, 0, NO_ARGS);
	}
	return 0;
}

static void split(int rank, uint64_t time, int64_t from, int color, int key, int64_t to)
{
	sb_call(&sb, pid(rank), "MPI_Comm_split", time, time + 5, 0, 0, ARGS(ARG(COMM, from), ARG(COLOR, color), ARG(KEY, key),
		ARG(COMM_OUT, to)));
}

/* The group as its structure has it: size and own rank. */
static void create(int rank, uint64_t time, int size, int me, int64_t to)
{
	sb_call(&sb, pid(rank), "MPI_Comm_create", time, time + 5, 0, 0, ARGS(ARG(COMM, WORLD),
		ARG(GROUP, (int64_t)((uint64_t)me << 32 | (uint32_t)size)), ARG(COMM_OUT, to)));
}

static void create_group(int rank, uint64_t time, int size, int me, int64_t to)
{
	sb_call(&sb, pid(rank), "MPI_Comm_create_group", time, time + 5, 0, 0, ARGS(ARG(COMM, WORLD), ARG(COLOR, 7),
		ARG(GROUP, (int64_t)((uint64_t)me << 32 | (uint32_t)size)), ARG(COMM_OUT, to)));
}

static void open_on(int rank, uint64_t time, int64_t comm, const char *path)
{
	sb_call(&sb, pid(rank), "MPI_File_open", time, time + 1, 0, 0, ARGS(STR(PATH, path), ARG(FLAGS, 2), ARG(COMM, comm),
		ARG(HANDLE, 0x900 + time)));
}

/* The members of the communicator of the only handle of a file, as ranks in order; "-" if there is none. */
static const char *members(const char *path)
{
	static char text[64];
	const struct model_comm *comm = NULL;
	size_t handles = 0;

	for (size_t i = 0; i < sb.model.handles.n; i++) {
		const struct model_handle *h = &sb.model.handles.v[i];

		if (h->file == REF_NONE || strcmp(sb.model.files.v[h->file].path, path))
			continue;
		handles++;
		comm = h->comm == REF_NONE ? NULL : &sb.model.comms.v[h->comm];
	}
	text[0] = 0;
	for (size_t i = 0; comm && i < comm->nmembers; i++)
		sprintf(text + strlen(text), "%lld ", (long long)sb.model.groups.v[comm->members[i]].rank);
	if (comm && strstr(comm->name, "recorded"))
		strcat(text, "partial");
	if (!handles)
		return "no handle";
	return comm ? text : "-";
}

static void colors_and_keys(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		split(r, 20 + r, WORLD, r % 2, -r, MADE);
	for (int r = 0; r < RANKS; r++)
		open_on(r, 40 + r, MADE, r % 2 ? "/odd" : "/even");
	replay();
	assert_string_equal(members("/even"), "2 0 ");
	assert_string_equal(members("/odd"), "3 1 ");
	assert_int_equal(sb.model.nnotes, 0);
}

static void no_color(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		split(r, 20 + r, WORLD, r ? -32766 : 0, 0, MADE);
	for (int r = 0; r < RANKS; r++)
		open_on(r, 40 + r, MADE, r ? "/null" : "/one");
	replay();
	assert_string_equal(members("/one"), "0 ");
	assert_string_equal(members("/null"), "-");
}

/* Splits of a copy are counted by themselves. */
static void copies(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		sb_call(&sb, pid(r), "MPI_Comm_dup", 10, 15, 0, 0, ARGS(ARG(COMM, WORLD), ARG(COMM_OUT, MADE)));
	for (int r = 0; r < RANKS; r++) {
		split(r, r < 2 ? 20 : 30, WORLD, 1, 0, MADE + 1);       /* two threads of a rank may do these in any order */
		split(r, r < 2 ? 30 : 20, MADE, r / 2, 0, MADE + 2);
	}
	for (int r = 0; r < RANKS; r++)
		open_on(r, 50 + r, MADE + 2, r / 2 ? "/high" : "/low");
	replay();
	assert_string_equal(members("/low"), "0 1 ");
	assert_string_equal(members("/high"), "2 3 ");
}

static void parts_of_parts(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		split(r, 20 + r, WORLD, r == 0, -r, MADE);
	for (int r = 1; r < RANKS; r++)
		split(r, 40 + r, MADE, 0, 0, MADE + 1); /* equal keys: the parent's order */
	for (int r = 1; r < RANKS; r++)
		open_on(r, 60 + r, MADE + 1, "/three");
	replay();
	assert_string_equal(members("/three"), "3 2 1 ");
}

/* A member that was not recorded, as on another node. */
static void one_is_missing(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS - 1; r++)
		split(r, 20 + r, WORLD, 0, 0, MADE);
	open_on(0, 40, MADE, "/f");
	replay();
	assert_string_equal(members("/f"), "0 1 2 partial");
}

/* Calls of one creation overlap in time: else they were taken for one wrongly. */
static void apart_in_time(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		split(r, 20 + 10 * r, WORLD, 0, 0, MADE);
	open_on(0, 70, MADE, "/f");
	open_on(0, 80, WORLD, "/w");
	replay();
	assert_string_equal(members("/f"), "-");
	assert_string_equal(members("/w"), "0 1 2 3 ");
	assert_int_equal(sb.model.nnotes, 1);
}

static void not_from_the_beginning(void **state)
{
	(void)state;
	sb_rank(&sb, 900, 4);
	for (int r = 0; r < RANKS; r++)
		split(r, 20, WORLD, 0, 0, MADE);
	sb_call(&sb, 900, "MPI_Comm_split", 20, 25, 0, 0, ARGS(ARG(COMM, WORLD), ARG(COLOR, 0), ARG(KEY, 0), ARG(COMM_OUT, MADE)));
	sb_call(&sb, 900, "MPI_File_open", 30, 31, 0, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 2), ARG(COMM, MADE), ARG(HANDLE, 9)));
	replay();
	assert_string_equal(members("/f"), "-");
	assert_int_equal(sb.model.nnotes, 1);
}

static void groups(void **state)
{
	static const int place[RANKS] = { -32766, 1, -32766, 0 };

	(void)state;
	for (int r = 0; r < RANKS; r++)
		create(r, 20 + r, 2, place[r], MADE);
	open_on(1, 40, MADE, "/pair");
	open_on(3, 41, MADE, "/pair");
	open_on(0, 42, MADE, "/null");
	create_group(0, 50, 2, 1, MADE + 1);
	create_group(2, 51, 2, 0, MADE + 1);
	open_on(0, 60, MADE + 1, "/group");
	open_on(2, 61, MADE + 1, "/group");
	replay();
	assert_string_equal(members("/pair"), "3 1 ");
	assert_string_equal(members("/null"), "-");
	assert_string_equal(members("/group"), "2 0 ");
}

/* Two groups in one creation: who is in which is not in the arguments. */
static void groups_side_by_side(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		create(r, 20 + r, 2, r % 2, MADE);
	open_on(0, 40, MADE, "/f");
	replay();
	assert_string_equal(members("/f"), "-");
}

/* Grids: those who get a communicator, in the parent's order if it may not change. */
static void grids(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		sb_text(&sb, IOP_REC_LIBRARY, pid(r), 7, "layer=MPI\npath=/lib/libmpich.so\ncomm_null=0x10\n", NULL);
	for (int i = 0; i < 2; i++)
		for (int r = 0; r < RANKS; r++)
			sb_call(&sb, pid(r), "MPI_Graph_create", 20 + 20 * i + r, 30 + 20 * i, 0, 0,
				ARGS(ARG(COMM, WORLD), ARG(ARG, 0), ARG(COMM_OUT, r < 3 ? MADE + i : 0x10)));
	open_on(0, 70, MADE, "/grid");
	open_on(2, 71, MADE, "/grid");
	open_on(3, 72, 0x10, "/null");
	replay();
	assert_string_equal(members("/grid"), "0 1 2 ");
	assert_string_equal(members("/null"), "-");
}

/* A value that was freed may be reused for a communicator whose creation was not observed. */
static void used_again(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		split(r, 20 + r, WORLD, 0, 0, MADE);
	for (int r = 0; r < RANKS; r++)
		sb_call(&sb, pid(r), "MPI_Comm_free", 40, 41, 0, 0, ARGS(ARG(COMM, MADE)));
	open_on(0, 50, MADE, "/f");
	replay();
	assert_string_equal(members("/f"), "-");
}

/* Where handles are 32-bit numbers, the upper half of a register is chance. */
static void narrow_values(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LIBRARY, 500, 2, "layer=MPI-IO\npath=/lib/libmpich.so\ncomm_world=0x44000000\ncomm_self=0x44000001\n",
		NULL);
	sb_text(&sb, IOP_REC_PROCESS, 500, 2, "comm=app\ncwd=/w\nrank=0\nmpi=1\njob=other\n", NULL);
	sb_call(&sb, 500, "MPI_Init", 5, 6, 0, 0, NO_ARGS);
	sb_call(&sb, 500, "MPI_Comm_dup", 20, 21, 0, 0, ARGS(ARG(COMM, 0x7f0044000000), ARG(COMM_OUT, 0x55555555840000f0)));
	sb_call(&sb, 500, "MPI_File_open", 30, 31, 0, 0,
		ARGS(STR(PATH, "/f"), ARG(FLAGS, 2), ARG(COMM, 0x123400000000 + 0x840000f0), ARG(HANDLE, 9)));
	replay();
	assert_string_equal(members("/f"), "0 ");
}

static void of_self(void **state)
{
	(void)state;
	split(2, 20, SELF, 5, 0, MADE);
	open_on(2, 40, MADE, "/f");
	replay();
	for (size_t i = 0; i < sb.model.handles.n; i++)
		assert_int_equal(sb.model.comms.v[sb.model.handles.v[i].comm].kind, COMM_KIND_SELF);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(colors_and_keys),
		TEST(no_color),
		TEST(copies),
		TEST(parts_of_parts),
		TEST(one_is_missing),
		TEST(apart_in_time),
		TEST(not_from_the_beginning),
		TEST(groups),
		TEST(groups_side_by_side),
		TEST(grids),
		TEST(used_again),
		TEST(narrow_values),
		TEST(of_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
