/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The replay of processes and threads: forks, stacks, losses, order, notes.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static void fork_inherits(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_WRONLY | O_APPEND);
	sb_open(&sb, 100, 12, 13, 0, 4, "/b", O_WRONLY);
	sb_fork(&sb, 100, 20, 200);
	close_descriptor(100, 21, 22, 3);
	sb_fd(&sb, 200, 29, 3, "/a", O_WRONLY | O_APPEND, 0);
	read_or_write(200, "write", 30, 31, 0, 3, 2, 2);
	close_descriptor(200, 40, 41, 3);
	expect("100 @10 enter openat\n100 @11 create h0 m1 c0 s2\n100 @11 leave openat\n"
	       "100 @12 enter openat\n100 @13 create h1 m1 c0 s0\n100 @13 leave openat\n"
	       "100 @21 enter close\n100 @22 destroy h0\n100 @22 leave close\n"
	       "200 @30 enter write\n200 @30 begin h2 m1 f0 2 #1\n200 @31 complete h2 2 #1\n200 @31 leave write\n"
	       "200 @40 enter close\n200 @41 destroy h2\n200 @41 leave close\n");
	assert_int_equal(sb.model.handles.n, 3);
	assert_true(handle_at(2)->precreated);
	assert_int_equal(handle_at(2)->group, 1);
	assert_int_equal(handle_at(2)->pre_status_flags, 2);
	assert_string_equal(sb.model.groups.v[1].name, "kid (pid 200)");
}

static void exec_from_a_thread(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_WRONLY | O_CLOEXEC);
	sb_open(&sb, 100, 12, 13, 0, 4, "/b", O_WRONLY);
	sb_fork(&sb, 100, 14, 101);
	sb_enter(&sb, 100, "fflush", 15, 16, 0, ARGS(ARG(HANDLE, 0x500)));
	read_or_write(101, "write", 20, 21, 0, 4, 1, 1);
	sb_exec(&sb, 100, 30, 101, "/bin/other-program");
	sb_fd(&sb, 100, 39, 4, "/b", O_WRONLY, 0);
	read_or_write(100, "write", 40, 41, 0, 4, 1, 1);
	expect("100 @10 enter openat\n100 @11 create h0 m1 c0 s1\n100 @11 leave openat\n"
	       "100 @12 enter openat\n100 @13 create h1 m1 c0 s0\n100 @13 leave openat\n"
	       "100 @15 enter fflush\n100 @15 begin h2 m2 f0 ? #1\n"
	       "101 @20 enter write\n101 @20 begin h1 m1 f0 1 #2\n101 @21 complete h1 1 #2\n101 @21 leave write\n"
	       "100 @30 complete h2 ? #1\n100 @30 leave fflush abandoned\n"
	       "100 @30 destroy h0\n"
	       "100 @40 enter write\n100 @40 begin h1 m1 f0 1 #3\n100 @41 complete h1 1 #3\n100 @41 leave write\n");
	assert_int_equal(sb.model.totals.lost_records, 0);
	assert_string_equal(sb.model.groups.v[0].name, "other-program (pid 100)");
	assert_int_equal(sb.model.locations.n, 2);
}

static void numbers_used_again(void **state)
{
	(void)state;
	sb_fork(&sb, 100, 5, 200);
	read_or_write(200, "write", 10, 11, 0, 1, 1, 1);
	sb_task_exit(&sb, 200, 20, true);
	sb_fork(&sb, 100, 30, 200);
	read_or_write(200, "write", 40, 41, 0, 1, 1, 1);
	expect("200 @10 enter write\n200 @10 begin h0 m1 f0 1 #1\n200 @11 complete h0 1 #1\n200 @11 leave write\n"
	       "200 @40 enter write\n200 @40 begin h1 m1 f0 1 #2\n200 @41 complete h1 1 #2\n200 @41 leave write\n");
	assert_int_equal(sb.model.groups.n, 3);
	assert_int_equal(sb.model.locations.n, 2);
	assert_true(sb.model.locations.v[0].id != sb.model.locations.v[1].id);
	assert_int_equal(sb.model.totals.lost_records, 0);
}

/* Whether it failed and how much it moved is not known. */
static void recorded_at_entry_only(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "fwrite", 10, 10, 0, ARGS(ARG(HANDLE, 0x500), ARG(SIZE, 2), ARG(ITEMS, 5)));
	sb_unseen(&sb, 100, "fwrite", 10, 0);
	sb_enter(&sb, 100, "fwrite", 20, 20, 0, ARGS(ARG(HANDLE, 0x500), ARG(SIZE, 2), ARG(ITEMS, 5)));
	sb_abandoned(&sb, 100, "fwrite", 20, 30, 0);
	expect("100 @10 enter fwrite\n100 @10 begin h0 m1 f0 10 #1\n100 @10 complete h0 ? #1\n100 @10 leave fwrite abandoned\n"
	       "100 @20 enter fwrite\n100 @20 begin h0 m1 f0 10 #2\n100 @30 complete h0 ? #2\n100 @30 leave fwrite abandoned\n");
	assert_int_equal(sb.model.totals.abandoned, 2);
	assert_int_equal(sb.model.totals.unknown_sizes, 1);
	assert_int_equal(sb.model.totals.failed_calls, 0);
}

static void nested_and_abandoned(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "fflush", 10, 15, 0, ARGS(ARG(HANDLE, 0x500)));
	sb_enter(&sb, 100, "fwrite", 14, 20, 1, ARGS(ARG(HANDLE, 0x500), ARG(SIZE, 2), ARG(ITEMS, 5)));
	sb_abandoned(&sb, 100, "fwrite", 14, 30, 1);
	sb_abandoned(&sb, 100, "fflush", 10, 31, 0);
	/* the BPF side reads the clock for the next call before it sends what was left */
	sb_call(&sb, 100, "fwrite", 29, 40, 0, 3, ARGS(ARG(HANDLE, 0x500), ARG(SIZE, 2), ARG(ITEMS, 5)));
	sb_enter(&sb, 100, "fflush", 50, 55, 0, ARGS(ARG(HANDLE, 0x500)));
	expect("100 @10 enter fflush\n100 @10 begin h0 m2 f0 ? #1\n"
	       "100 @14 enter fwrite\n100 @14 begin h0 m1 f0 10 #2\n"
	       "100 @30 complete h0 ? #2\n100 @30 leave fwrite abandoned\n"
	       "100 @31 complete h0 ? #1\n100 @31 leave fflush abandoned\n"
	       "100 @31 enter fwrite\n100 @31 begin h0 m1 f0 10 #3\n100 @40 complete h0 6 #3\n100 @40 leave fwrite\n"
	       "100 @50 enter fflush\n100 @50 begin h0 m2 f0 ? #4\n"
	       "100 @55 complete h0 ? #4\n100 @55 leave fflush abandoned\n");
	assert_int_equal(sb.model.totals.abandoned, 3);
	for (size_t i = 0; i < sb.model.nnotes; i++)
		assert_null(strstr(sb.model.notes[i], "backwards"));
}

static void losses(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "fflush", 10, 11, 0, ARGS(ARG(HANDLE, 0x500)));
	sb.seq[100] += 3;
	/* the EXIT of fflush was lost: this call is at depth 0 */
	sb_call(&sb, 100, "fwrite", 40, 50, 0, 5, ARGS(ARG(HANDLE, 0x500), ARG(SIZE, 1), ARG(ITEMS, 5)));
	sb.seq[100] += 1;
	sb_exit(&sb, 100, "fflush", 55, 60, 0, 0, NO_ARGS);      /* its ENTER was lost */
	sb_lost(&sb, 70, 4);
	expect("100 @10 enter fflush\n100 @10 begin h0 m2 f0 ? #1\n100 @40 complete h0 ? #1\n100 @40 leave fflush abandoned\n"
	       "100 @40 enter fwrite\n100 @40 begin h0 m1 f0 5 #2\n100 @50 complete h0 5 #2\n100 @50 leave fwrite\n");
	assert_int_equal(sb.model.totals.lost_records, 4);
	assert_int_equal(sb.model.totals.returns_without_frame, 1);
	assert_true(noted("3 records of thread 100 (process 100) were lost between 11 and 50 ns"));
}

static void records_out_of_order(void **state)
{
	uint32_t seq;

	(void)state;
	read_or_write(100, "write", 3000000000, 3000000001, 0, 1, 1, 1);
	read_or_write(101, "write", 1000000000, 1000000001, 0, 1, 2, 2);
	sb_round(&sb, 9000000000);
	read_or_write(102, "write", 2000000000, 2000000001, 0, 1, 3, 3);      /* late, and the thread's first: still taken */
	seq = sb.seq[100];
	sb.seq[100] = 0;
	read_or_write(100, "write", 2500000000, 2500000001, 0, 1, 4, 4);      /* late, and its place is taken: skipped */
	sb.seq[100] = seq;
	expect("101 @1000000000 enter write\n101 @1000000000 begin h0 m1 f0 2 #1\n"
	       "101 @1000000001 complete h0 2 #1\n101 @1000000001 leave write\n"
	       "100 @3000000000 enter write\n100 @3000000000 begin h0 m1 f0 1 #2\n100 @3000000001 complete h0 1 #2\n100 "
	       "@3000000001 leave write\n"
	       "102 @2000000000 enter write\n102 @2000000000 begin h0 m1 f0 3 #3\n"
	       "102 @2000000001 complete h0 3 #3\n102 @2000000001 leave write\n");
	assert_true(sb.model.totals.late_records >= 2);
}

/* A thread's own order holds even where a clock value is older than that of the record before (FD before its openat). */
static void clock_read_first(void **state)
{
	(void)state;
	sb_fd(&sb, 100, 500, 3, "/a", O_RDONLY, 0);
	sb_call(&sb, 100, "openat", 10, 20, 0, 3, ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "/a"), ARG(FLAGS, O_RDONLY)));
	expect("100 @10 enter openat\n100 @20 create h0 m0 c0 s0\n100 @20 leave openat\n");
	expect_handle(0, "/a", "POSIX", -1);
	assert_int_equal(sb.model.handles.n, 1);
	assert_int_equal(sb.model.totals.lost_records, 0);
	assert_int_equal(sb.model.totals.late_records, 0);
}

/* Records that the format forbids end the replay with a reason. */
static void malformed(void **state)
{
	struct iop_rec_call rec = {
		.rec = { .len = sizeof(rec), .type = IOP_REC_CALL, .tid = 100, .tgid = 100, .seq = 1, .time_ns = 9 }, .probe = 60000
	};

	(void)state;
	assert_int_equal(spool_writer_append(sb.writer, &rec.rec), 0);
	sb_replay(&sb);
	assert_int_equal(sb.ret, -EINVAL);
	assert_non_null(strstr(sb.err, "names probe 60000"));
}

static void delete_on_close(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "MPI_File_open", 10, 11, 0, ARGS(STR(PATH, "/t"), ARG(FLAGS, 0x10 | 8 | 1), ARG(COMM, 1)));
	sb_exit(&sb, 100, "MPI_File_open", 10, 12, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_call(&sb, 100, "MPI_File_close", 20, 21, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	expect("100 @10 enter MPI_File_open\n100 @12 create h0 m2 c1 s100\n100 @12 leave MPI_File_open\n"
	       "100 @20 enter MPI_File_close\n100 @21 delete /t\n100 @21 destroy h0\n100 @21 leave MPI_File_close\n");
}

static void notes_and_end(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_MISSING, 0, 5, "layer=HDF5\nlibrary=/l.so\nfunction=H5Fx\nreason=not there\n", NULL);
	sb_text(&sb, IOP_REC_GAP, 100, 5, "layer=ISOC\npid=100\nfrom_ns=1\nto_ns=4\nreason=fork\n", NULL);
	sb_text(&sb, IOP_REC_END, 0, 9, "reason=interrupted\nspool_dropped=3\nno_process_slot=2\nforeign=1\nunreported_ends=4\n"
		"no_memory=5\nprocesses_running=6\nprobes_single_stepped=7\n", NULL);
	expect("");
	assert_true(noted("HDF5: H5Fx of /l.so was not probed: not there"));
	assert_true(noted("ISOC of process 100 was not observed between 1 and 4 ns: fork"));
	assert_true(noted("3 records could not be written to the spool"));
	assert_true(noted("2 processes found no free slot"));
	assert_true(noted("1 processes belong to another recording of the service"));
	assert_true(noted("4 processes ended without a record of their end"));
	assert_true(noted("6 processes ran on when the recording ended"));
	assert_true(noted("7 probes were on instructions that the kernel single-steps"));
	assert_true(noted("5 processes or events were not tracked for want of memory"));
	assert_int_equal(sb.model.totals.lost_records, 3);
	assert_true(sb.model.complete);
}

/* glibc carries out asynchronous I/O with threads: a process without any has had none. */
static void gaps_of_asynchronous_io(void **state)
{
	(void)state;
	sb_open(&sb, 100, 1, 2, 0, 3, "/a", O_RDONLY);
	sb_open(&sb, 200, 1, 2, 0, 3, "/a", O_RDONLY);
	sb_fork(&sb, 200, 3, 201);
	for (int pid = 100; pid <= 300; pid += 100) {
		char head[128];

		snprintf(head, sizeof(head), "layer=AIO\npid=%d\nfrom_ns=1\nto_ns=4\nreason=fork\n", pid);
		sb_text(&sb, IOP_REC_GAP, pid, 5, head, NULL);
	}
	sb_text(&sb, IOP_REC_GAP, 100, 5, "layer=ISOC\npid=100\nfrom_ns=1\nto_ns=4\nreason=fork\n", NULL);
	replay();
	assert_false(noted("AIO of process 100"));
	assert_true(noted("ISOC of process 100"));
	assert_true(noted("AIO of process 200"));       /* with a thread */
	assert_true(noted("AIO of process 300"));       /* unknown */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fork_inherits), TEST(exec_from_a_thread), TEST(numbers_used_again), TEST(nested_and_abandoned),
		TEST(recorded_at_entry_only), TEST(losses), TEST(records_out_of_order), TEST(delete_on_close),
		TEST(notes_and_end), TEST(gaps_of_asynchronous_io), TEST(clock_read_first), TEST(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
