/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a recording says of where it comes from, for merge: version, clocks, batch job, launch and its size, declared mounts.
 */
#include "replay_fixture.h"
#include "replay/preview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void clocks_and_version(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=n1\nversion=9.8\nrealtime_ns=5000\nmonotonic_ns=20\nclock_width_ns=3\n"
		"clock_synchronized=1\nclock_error_ns=70\nclock_max_error_ns=800\n", NULL);
	sb_call(&sb, 100, "write", 30, 40, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
	sb_text(&sb, IOP_REC_END, 0, 90, "reason=test\nrealtime_ns=5100\nmonotonic_ns=110\nclock_width_ns=4\nclock_synchronized=0\n"
		"clock_error_ns=16000000000\nclock_max_error_ns=16000000000\n", NULL);
	replay();
	assert_string_equal(sb.model.version, "9.8");
	assert_true(sb.model.clock_start.read && sb.model.clock_start.known && sb.model.clock_start.synchronized);
	assert_int_equal(sb.model.clock_start.monotonic_ns, 20);
	assert_int_equal(sb.model.clock_start.realtime_ns, 5000);
	assert_int_equal(sb.model.clock_start.width_ns, 3);
	assert_int_equal(sb.model.clock_start.error_ns, 70);
	assert_int_equal(sb.model.clock_start.max_error_ns, 800);
	assert_true(sb.model.clock_end.read && sb.model.clock_end.known && !sb.model.clock_end.synchronized);
	assert_int_equal(sb.model.clock_end.monotonic_ns, 110);
	assert_int_equal(sb.model.realtime_at_begin_ns, 5010);
	assert_int_equal(sb.model.locations.v[0].id >> 32, sb.model.recording_tag);
}

/* Unknown stays unknown: an interrupted recording has no end, an old one no word of synchronisation. */
static void unknown_clocks(void **state)
{
	(void)state;
	sb_call(&sb, 100, "write", 30, 40, 0, 1, ARGS(ARG(HANDLE, 1), ARG(BYTES, 1)));
	replay();
	assert_true(sb.model.clock_start.read);
	assert_false(sb.model.clock_start.known);
	assert_false(sb.model.clock_end.read);
	assert_null(sb.model.version);
	assert_null(sb.model.batch_job);
}

static void launch_and_its_size(void **state)
{
	(void)state;
	sb_rank(&sb, 100, 1);
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "job=alpha\nsize=8\nbatch_job=SLURM job 7\n", NULL);
	sb_text(&sb, IOP_REC_PROCESS, 200, 2, "comm=sh\nrank=2\njob=alpha\nsize=8\nbatch_job=SLURM job 7\n", NULL);
	replay();
	assert_int_equal(sb.model.groups.v[0].rank, 1);
	assert_string_equal(sb.model.groups.v[0].launch, "alpha");
	assert_int_equal(sb.model.groups.v[0].launch_size, 8);
	assert_int_equal(sb.model.groups.v[1].rank, -1);        /* a shell: it has the variables only */
	assert_string_equal(sb.model.batch_job, "SLURM job 7");
}

static void two_batch_jobs_are_none(void **state)
{
	static const char *const jobs[] = { "batch_job=SLURM job 7\n", "batch_job=SLURM job 8\n", "batch_job=SLURM job 7\n" };

	(void)state;
	for (int i = 0; i < 3; i++)
		sb_text(&sb, IOP_REC_PROCESS, 100 * (i + 1), 2, jobs[i], NULL);
	replay();
	assert_null(sb.model.batch_job);
}

static void declared_mounts(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=n1\nrealtime_ns=1\nmonotonic_ns=0\nshared_mount_0=/site\nshared_mount_1=/absent\n",
		NULL);
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n",
		"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:40 / /site rw - fuse own rw\n"
		"31 29 0:41 / /sitesque rw - tmpfs t rw\n");
	sb_call(&sb, 100, "unlink", 10, 20, 0, 0, ARGS(STR(PATH, "/site/a")));
	sb_call(&sb, 100, "unlink", 30, 40, 0, 0, ARGS(STR(PATH, "/sitesque/a")));
	replay();
	assert_string_equal(sb.model.files.v[0].path, "/site/a");
	assert_int_equal(sb.model.files.v[0].scope, SCOPE_SHARED);
	assert_string_equal(sb.model.files.v[1].path, "/sitesque/a");
	assert_int_equal(sb.model.files.v[1].scope, SCOPE_NODE);
	assert_true(noted("mounted on /absent"));
	assert_false(noted("mounted on /site,"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

/* ---- whether the archive will be alone ---- */

static bool whole_job(const char *const *processes)
{
	struct replay_preview preview;
	struct spool_reader *spool;

	for (int i = 0; processes[i]; i++)
		sb_text(&sb, IOP_REC_PROCESS, 100 + i, 2, processes[i], NULL);
	assert_int_equal(spool_writer_destroy(sb.writer), 0);
	sb.writer = NULL;
	assert_int_equal(spool_reader_open(&spool, sb.path), 0);
	assert_int_equal(replay_preview(spool, &preview), 0);
	spool_reader_destroy(spool);
	assert_null(preview.sites);
	assert_false(preview.bounded);
	return preview.whole_job;
}
#define PROCESSES(...) (const char *const[]){ __VA_ARGS__, NULL }

static void a_program_is_a_whole_job(void **state)
{
	(void)state;
	assert_true(whole_job(PROCESSES("comm=ls\n")));
}

static void all_ranks_are_a_whole_job(void **state)
{
	(void)state;
	assert_true(whole_job(
		PROCESSES("comm=mpirun\n", "rank=0\nsize=2\njob=a\n", "rank=0\nsize=2\njob=a\n", "rank=1\nsize=2\njob=a\n")));
}

static void some_ranks_are_not(void **state)
{
	(void)state;
	assert_false(whole_job(PROCESSES("rank=0\nsize=2\njob=a\n", "rank=1\nsize=2\njob=b\n")));
}

static void ranks_of_unknown_number_are_not(void **state)
{
	(void)state;
	assert_false(whole_job(PROCESSES("rank=0\njob=a\n")));
}

static void a_batch_job_may_be_elsewhere_too(void **state)
{
	(void)state;
	assert_false(whole_job(PROCESSES("comm=ls\nbatch_job=SLURM job 7\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(clocks_and_version),
		TEST(unknown_clocks),
		TEST(launch_and_its_size),
		TEST(two_batch_jobs_are_none),
		TEST(declared_mounts),
		TEST(a_program_is_a_whole_job),
		TEST(all_ranks_are_a_whole_job),
		TEST(some_ranks_are_not),
		TEST(ranks_of_unknown_number_are_not),
		TEST(a_batch_job_may_be_elsewhere_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
