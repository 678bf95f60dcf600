/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Ranks and jobs as the replay finds them, and its notes for people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static void job_rank(uint32_t tgid, int rank, const char *job)
{
	char head[64];

	sb_rank(&sb, tgid, rank);
	snprintf(head, sizeof(head), "job=%s\n", job);
	sb_text(&sb, IOP_REC_PROCESS, tgid, 2, head, NULL);
}

static void file_open(uint32_t tid, uint64_t t, int64_t comm)
{
	sb_enter(&sb, tid, "MPI_File_open", t, t + 1, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 2), ARG(COMM, comm)));
	sb_exit(&sb, tid, "MPI_File_open", t, t + 2, 0, 0, ARGS(ARG(HANDLE, 0x900)));
}

static const char *group_name(size_t i)
{
	assert_true(i < sb.model.groups.n);
	return sb.model.groups.v[i].name;
}

static void expect_members(uint32_t comm, const char *name, size_t n, const uint32_t *groups)
{
	const struct model_comm *c = &sb.model.comms.v[comm];

	assert_true(comm < sb.model.comms.n);
	assert_string_equal(c->name, name);
	assert_int_equal(c->nmembers, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c->members[i], groups[i]);
}

/* Two launches in one trace: rank 0 and 1 twice, the same path opened by all on their own worlds. */
static void two_jobs(void **state)
{
	uint32_t first, second;

	(void)state;
	job_rank(100, 1, "alpha");
	job_rank(200, 0, "beta");
	job_rank(300, 0, "alpha");
	job_rank(400, 1, "beta");
	for (int i = 1; i <= 4; i++)
		file_open(100 * i, 10 * i, 0x1000);
	replay();
	assert_int_equal(sb.model.njobs, 2);
	assert_string_equal(group_name(0), "MPI Rank 1 (job 1)");
	assert_string_equal(group_name(1), "MPI Rank 0 (job 2)");
	assert_string_equal(group_name(2), "MPI Rank 0 (job 1)");
	assert_string_equal(group_name(3), "MPI Rank 1 (job 2)");
	assert_int_equal(sb.model.handles.n, 2);        /* one for each job, over its ranks */
	first = sb.model.handles.v[0].comm;
	second = sb.model.handles.v[1].comm;
	expect_members(first, "MPI_COMM_WORLD (job 1)", 2, (uint32_t[]){ 2, 0 });
	expect_members(second, "MPI_COMM_WORLD (job 2)", 2, (uint32_t[]){ 1, 3 });
	assert_non_null(strstr(sb.events, "300 @32 create h0 "));
	assert_non_null(strstr(sb.events, "400 @42 create h1 "));
}

/* One job of which the launcher's name is known: no numbers. A rank without events has a location, because its world names it. */
static void idle_rank(void **state)
{
	(void)state;
	job_rank(100, 0, "alpha");
	job_rank(200, 1, "alpha");
	file_open(100, 10, 0x1000);
	replay();
	assert_int_equal(sb.model.njobs, 1);
	assert_string_equal(group_name(1), "MPI Rank 1");
	expect_members(0, "MPI_COMM_WORLD", 2, (uint32_t[]){ 0, 1 });
	assert_int_equal(sb.model.locations.n, 2);
	assert_int_equal(sb.model.locations.v[1].group, 1);
	assert_true(sb.model.locations.v[1].used);
}

/* WORLD and SELF are there for every job, opened on or not; without ranks there are none. */
static void communicators_without_files(void **state)
{
	(void)state;
	job_rank(100, 0, "alpha");
	replay();
	assert_int_equal(sb.model.comms.n, 2);
	assert_int_equal(sb.model.comms.v[0].kind, COMM_KIND_WORLD);
	assert_int_equal(sb.model.comms.v[1].kind, COMM_KIND_SELF);
}

static void no_ranks(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=sh\nrank=3\n", NULL);       /* a wrapper: it has no MPI library */
	replay();
	assert_int_equal(sb.model.comms.n, 0);
	assert_int_equal(sb.model.njobs, 0);
	assert_string_equal(group_name(0), "sh (pid 100)");
}

static void count_notes(const char *part, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < sb.model.ndigest; i++)
		found += strstr(sb.model.digest[i], part) != NULL;
	assert_int_equal(found, n);
}

/* A rank's child has its variables, and after a fork its libraries. */
static void children_are_no_ranks(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 300, 1, "comm=tool\nrank=0\nmpi=1\njob=alpha\nppid=100\n",
		NULL); /* found before its parent */
	job_rank(100, 0, "alpha");
	sb_fork(&sb, 100, 20, 200);
	sb_text(&sb, IOP_REC_PROCESS, 200, 21, "comm=app\nrank=0\nmpi=1\njob=alpha\n", NULL);
	replay();
	assert_string_equal(group_name(0), "tool (pid 300)");
	assert_string_equal(group_name(1), "MPI Rank 0");
	assert_string_equal(group_name(2), "app (pid 200)");
	assert_int_equal(sb.model.groups.v[2].rank, -1);
	expect_members(0, "MPI_COMM_WORLD", 1, (uint32_t[]){ 1 });
	count_notes("2 processes have the rank of another process", 1);
}

/* ---- notes ---- */

static void gap(uint32_t pid, const char *reason, unsigned long long from, unsigned long long to)
{
	char head[256];

	snprintf(head, sizeof(head), "layer=ISOC\npid=%u\nfrom_ns=%llu\nto_ns=%llu\nreason=%s\n", pid, from, to, reason);
	sb_text(&sb, IOP_REC_GAP, pid, 5, head, NULL);
}

static void gaps_are_added_up(void **state)
{
	(void)state;
	gap(100, "fork", 1000000, 3000000);
	gap(200, "fork", 1000000, 5000000);
	gap(200, "fork", 6000000, 6100000);
	gap(300, "late", 1000, 3500);
	replay();
	assert_int_equal(sb.model.nnotes, 4);
	assert_string_equal(sb.model.notes[1], "ISOC of process 200 was not observed between 1000000 and 5000000 ns: fork");
	assert_int_equal(sb.model.ndigest, 2);
	assert_string_equal(sb.model.digest[0], "ISOC: 2 processes, 6.1 ms in all: fork");
	assert_string_equal(sb.model.digest[1], "ISOC: 1 process, 2.5 us in all: late");
}

static void missing(const char *layer, const char *function, const char *reason)
{
	char head[256];

	snprintf(head, sizeof(head), "layer=%s\nlibrary=/usr/lib/libmpi.so.40\nfunction=%s\nreason=%s\n", layer, function, reason);
	sb_text(&sb, IOP_REC_MISSING, 0, 5, head, NULL);
}

static void missing_probes_are_joined(void **state)
{
	(void)state;
	missing("MPI-IO", "a", "refused");
	missing("MPI-IO", "b", "refused");
	missing("MPI-IO", "b", "refused");
	missing("MPI-IO", "c", "too short");
	missing("*", "*", "no symbols");
	replay();
	assert_int_equal(sb.model.nnotes, 4);
	assert_int_equal(sb.model.ndigest, 3);
	assert_string_equal(sb.model.digest[0], "MPI-IO: 2 functions of libmpi.so.40 were not probed: refused: a, b");
	assert_string_equal(sb.model.digest[1], "MPI-IO: 1 function of libmpi.so.40 was not probed: too short: c");
	assert_string_equal(sb.model.digest[2], "libmpi.so.40 was not probed: no symbols");
}

static void long_lists_are_cut(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < 23; i++) {
		snprintf(name, sizeof(name), "f%02d", i);
		missing("MPI-IO", name, "refused");
	}
	replay();
	assert_int_equal(sb.model.nnotes, 23);
	assert_int_equal(sb.model.ndigest, 1);
	assert_non_null(strstr(sb.model.digest[0], "MPI-IO: 23 functions of"));
	assert_non_null(strstr(sb.model.digest[0], "f18, f19 and 3 more"));
}

static void losses_are_one_line(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		sb_call(&sb, 100, "write", 100 * i + 10, 100 * i + 20, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
		sb.seq[100] += 2;
	}
	sb_call(&sb, 100, "write", 900, 910, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
	replay();
	assert_int_equal(sb.model.totals.lost_records, 10);
	count_notes("10 records are missing in 5 places", 1);
	count_notes("were lost between", 0);
	assert_true(sb.model.nnotes >= 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_jobs), TEST(idle_rank), TEST(communicators_without_files), TEST(no_ranks), TEST(children_are_no_ranks),
		TEST(gaps_are_added_up), TEST(missing_probes_are_joined), TEST(long_lists_are_cut), TEST(losses_are_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
