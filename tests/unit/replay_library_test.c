/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The replay of library handles: streams, files of several ranks, communicators.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "replay_fixture.h"

static void stream_with_descriptor(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\n", NULL);
	sb_enter(&sb, 100, "fopen", 10, 11, 0, ARGS(STR(PATH, "link/f"), STR(STREAM_MODE, "a+")));
	sb_fd(&sb, 100, 16, 3, "/real/f", O_RDWR | O_APPEND, 0);
	sb_call(&sb, 100, "openat", 12, 15, 1, 3,
		ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "link/f"), ARG(FLAGS, O_RDWR | O_CREAT | O_APPEND)));
	sb_exit(&sb, 100, "fopen", 10, 20, 0, 0x700, NO_ARGS);
	sb_call(&sb, 100, "fputc", 30, 31, 0, 'x', ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fputs", 32, 33, 0, 1, ARGS(ARG(HANDLE, 0x700), ARG(MOVED, 7)));
	sb_call(&sb, 100, "rewind", 34, 35, 0, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_enter(&sb, 100, "fclose", 40, 41, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "close", 42, 43, 1, 0, ARGS(ARG(HANDLE, 3)));
	sb_exit(&sb, 100, "fclose", 40, 50, 0, 0, NO_ARGS);
	expect("100 @10 enter fopen\n100 @12 enter openat\n100 @15 create h1 m2 c1 s2\n100 @15 leave openat\n"
	       "100 @20 create h0 m2 c1 s2\n100 @20 leave fopen\n"
	       "100 @30 enter fputc\n100 @30 begin h0 m1 f0 1 #1\n100 @31 complete h0 1 #1\n100 @31 leave fputc\n"
	       "100 @32 enter fputs\n100 @32 begin h0 m1 f0 ? #2\n100 @33 complete h0 7 #2\n100 @33 leave fputs\n"
	       "100 @34 enter rewind\n100 @35 seek h0 0 w0 0\n100 @35 leave rewind\n"
	       "100 @40 enter fclose\n100 @42 enter close\n100 @43 destroy h1\n100 @43 leave close\n"
	       "100 @50 destroy h0\n100 @50 leave fclose\n");
	expect_handle(0, "/real/f", "ISOC", -1);
	expect_handle(1, "/real/f", "POSIX", 0);
	assert_int_equal(sb.model.totals.unknown_sizes, 0);
}

static void stream_of_before(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "fflush", 10, 11, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_fd(&sb, 100, 12, 3, "/old", O_WRONLY, 0);
	read_or_write(100, "write", 13, 14, 1, 3, 4, 4);
	sb_exit(&sb, 100, "fflush", 10, 20, 0, 0, NO_ARGS);
	sb_call(&sb, 100, "fclose", 30, 31, 0, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fflush", 40, 41, 0, 0, ARGS(ARG(HANDLE, 0)));
	expect("100 @10 enter fflush\n100 @10 begin h0 m2 f0 ? #1\n"
	       "100 @13 enter write\n100 @13 begin h1 m1 f0 4 #2\n100 @14 complete h1 4 #2\n100 @14 leave write\n"
	       "100 @20 complete h0 ? #1\n100 @20 leave fflush\n"
	       "100 @30 enter fclose\n100 @31 destroy h0\n100 @31 leave fclose\n"
	       "100 @40 enter fflush\n100 @41 leave fflush\n");
	expect_handle(0, "/old", "ISOC", -1);
	assert_true(handle_at(0)->precreated);
}

/* After an attach calls may come before the addresses of the standard streams are known. A child has its parent's streams. */
static void standard_streams(void **state)
{
	(void)state;
	sb_fd(&sb, 100, 5, 1, "/log", O_WRONLY, IOP_F_SCAN);
	sb_call(&sb, 100, "fputc", 10, 11, 0, 'x', ARGS(ARG(HANDLE, 0x700)));
	sb_text(&sb, IOP_REC_LIBRARY, 100, 12, "layer=ISOC\nstdin=0x600\nstdout=0x700\nstderr=0x800\n", NULL);
	sb_call(&sb, 100, "puts", 20, 21, 0, 4, ARGS(ARG(MOVED, 4)));
	sb_call(&sb, 100, "fputc", 22, 23, 0, 'x', ARGS(ARG(HANDLE, 0x800)));
	sb_fork(&sb, 100, 30, 200);
	sb_call(&sb, 200, "fputc", 40, 41, 0, 'x', ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 200, "puts", 42, 43, 0, 4, ARGS(UNREADABLE(MOVED)));
	sb_call(&sb, 100, "freopen", 50, 51, 0, 0x600, ARGS(ARG(HANDLE, 0x600), STR(PATH, "/in"), STR(STREAM_MODE, "r")));
	expect("100 @10 enter fputc\n100 @10 begin h1 m1 f0 1 #1\n100 @11 complete h1 1 #1\n100 @11 leave fputc\n"
	       "100 @20 enter puts\n100 @20 begin h1 m1 f0 ? #2\n100 @21 complete h1 4 #2\n100 @21 leave puts\n"
	       "100 @22 enter fputc\n100 @22 begin h2 m1 f0 1 #3\n100 @23 complete h2 1 #3\n100 @23 leave fputc\n"
	       "200 @40 enter fputc\n200 @40 begin h3 m1 f0 1 #4\n200 @41 complete h3 1 #4\n200 @41 leave fputc\n"
	       "200 @42 enter puts\n200 @42 begin h3 m1 f0 ? #5\n200 @43 complete h3 ? #5\n200 @43 leave puts\n"
	       "100 @50 enter freopen\n100 @51 destroy h4\n100 @51 create h5 m0 c0 s0\n100 @51 leave freopen\n");
	expect_handle(1, "/log", "ISOC", -1);
	assert_string_equal(handle_at(1)->name, "stdout");
	assert_string_equal(handle_at(2)->name, "stderr");
	expect_handle(3, "/log", "ISOC", -1);
	assert_string_equal(handle_at(4)->name, "stdin");
	expect_handle(5, "/in", "ISOC", -1);
}

/* musl's freopen opens another stream, flushes and closes it. */
static void stream_in_freopen(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "freopen", 10, 10, 0, ARGS(ARG(HANDLE, 0x700), STR(PATH, "/g"), STR(STREAM_MODE, "w")));
	sb_call(&sb, 100, "fopen", 11, 12, 1, 0x900, ARGS(STR(PATH, "/g"), STR(STREAM_MODE, "w")));
	sb_enter(&sb, 100, "fclose", 13, 13, 1, ARGS(ARG(HANDLE, 0x900)));
	sb_call(&sb, 100, "fflush", 14, 15, 2, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_exit(&sb, 100, "fclose", 13, 16, 1, 0, NO_ARGS);
	sb_exit(&sb, 100, "freopen", 10, 20, 0, 0x700, NO_ARGS);
	expect("100 @10 enter freopen\n100 @11 enter fopen\n100 @12 leave fopen\n"
	       "100 @13 enter fclose\n100 @14 enter fflush\n100 @15 leave fflush\n100 @16 leave fclose\n"
	       "100 @20 destroy h0\n100 @20 create h1 m1 c3 s0\n100 @20 leave freopen\n");
}

static void other_streams(void **state)
{
	(void)state;
	sb_fd(&sb, 100, 5, 1, "/log", O_WRONLY, IOP_F_SCAN);
	sb_call(&sb, 100, "puts", 10, 11, 0, 4, ARGS(ARG(MOVED, 4)));
	sb_open(&sb, 100, 20, 21, 0, 3, "/f", O_RDWR);
	sb_call(&sb, 100, "fdopen", 22, 23, 0, 0x700, ARGS(ARG(FD, 3), STR(STREAM_MODE, "r")));
	sb_call(&sb, 100, "freopen", 30, 31, 0, 0x700, ARGS(ARG(HANDLE, 0x700), STR(PATH, "/g"), STR(STREAM_MODE, "w")));
	sb_call(&sb, 100, "fgetc", 40, 41, 0, 0xffffffff, ARGS(ARG(HANDLE, 0x700)));
	sb_fork(&sb, 100, 50, 200);
	sb_call(&sb, 200, "fputc", 60, 61, 0, 'x', ARGS(ARG(HANDLE, 0x700)));
	expect("100 @10 enter puts\n100 @10 begin h1 m1 f0 ? #1\n100 @11 complete h1 4 #1\n100 @11 leave puts\n"
	       "100 @20 enter openat\n100 @21 create h2 m2 c0 s0\n100 @21 leave openat\n"
	       "100 @22 enter fdopen\n100 @23 create h3 m0 c0 s0\n100 @23 leave fdopen\n"
	       "100 @30 enter freopen\n100 @31 destroy h3\n100 @31 create h4 m1 c3 s0\n100 @31 leave freopen\n"
	       "100 @40 enter fgetc\n100 @40 begin h4 m0 f0 1 #2\n100 @41 complete h4 ? #2\n100 @41 leave fgetc failed 0\n"
	       "200 @60 enter fputc\n200 @60 begin h5 m1 f0 1 #3\n200 @61 complete h5 1 #3\n200 @61 leave fputc\n");
	assert_string_equal(handle_at(1)->name, "stdout");
	expect_handle(1, "/log", "ISOC", -1);
	expect_handle(3, "/f", "ISOC", -1);
	expect_handle(4, "/g", "ISOC", -1);
	expect_handle(5, "/g", "ISOC", -1);
	assert_true(handle_at(5)->precreated && !handle_at(4)->precreated);
}

/* nc_create_par > H5Fcreate > MPI_File_open > openat, with a foreign file opened between. */
static void chain_down(uint32_t tid, uint64_t t, bool fails)
{
	sb_enter(&sb, tid, "nc_create_par", t, t + 1, 0, ARGS(STR(PATH, "out.nc"), ARG(FLAGS, 0x1000), ARG(COMM, 0x1000)));
	sb_enter(&sb, tid, "H5Fcreate", t + 2, t + 3, 1, ARGS(STR(PATH, "out.nc"), ARG(FLAGS, 2)));
	sb_enter(&sb, tid, "MPI_File_open", t + 4, t + 5, 2, ARGS(STR(PATH, "ufs:out.nc"), ARG(FLAGS, 9), ARG(COMM, 0x1000)));
	sb_open(&sb, tid, t + 6, t + 7, 3, 8, "/proc/self/maps", O_RDONLY);
	sb_fd(&sb, tid, t + 9, 9, "/w/out.nc", O_RDWR, 0);
	sb_call(&sb, tid, "openat", t + 8, t + 9, 3, 9,
		ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "out.nc"), ARG(FLAGS, O_RDWR | O_CREAT)));
	sb_exit(&sb, tid, "MPI_File_open", t + 4, t + 10, 2, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_exit(&sb, tid, "H5Fcreate", t + 2, t + 11, 1, fails ? -1 : 0x100000001, NO_ARGS);
	sb_exit(&sb, tid, "nc_create_par", t, t + 12, 0, fails ? -101 : 0, ARGS(ARG(HANDLE, 0x10000)));
}

/* The file was opened before the recording began: its communicator is unknown, the function is collective all the same. */
static void collective_after_attach(void **state)
{
	(void)state;
	sb_rank(&sb, 100, 1);
	sb_call(&sb, 100, "MPI_File_write_at_all", 30, 31, 0, 0, ARGS(ARG(HANDLE, 0x900), ARG(OFFSET, 64)));
	sb_call(&sb, 100, "MPI_File_write_at", 40, 41, 0, 0, ARGS(ARG(HANDLE, 0x900), ARG(OFFSET, 64)));
	expect("100 @30 enter MPI_File_write_at_all\n100 @30 begin h0 m1 f2 ? at 64 #1\n100 @31 complete h0 ? #1\n"
	       "100 @31 leave MPI_File_write_at_all\n"
	       "100 @40 enter MPI_File_write_at\n100 @40 begin h0 m1 f0 ? at 64 #2\n100 @41 complete h0 ? #2\n"
	       "100 @41 leave MPI_File_write_at\n");
	assert_int_equal(sb.model.handles.v[0].comm, REF_NONE);
}

static void unified_over_ranks(void **state)
{
	(void)state;
	sb_rank(&sb, 100, 1);
	sb_rank(&sb, 200, 0);
	chain_down(100, 10, false);
	sb_call(&sb, 100, "MPI_File_write_at_all", 30, 31, 0, 0, ARGS(ARG(HANDLE, 0x900), ARG(OFFSET, 64)));
	sb_call(&sb, 100, "H5Dcreate2", 32, 33, 0, 0x500000001, ARGS(ARG(PARENT, 0x100000001), STR(NAME, "temp")));
	sb_call(&sb, 100, "nc_close", 34, 35, 0, 0, ARGS(ARG(HANDLE, 0x10002)));
	chain_down(200, 50, false);
	expect("100 @10 enter nc_create_par\n100 @12 enter H5Fcreate\n100 @14 enter MPI_File_open\n"
	       "100 @16 enter openat\n100 @17 create h0 m0 c0 s0\n100 @17 leave openat\n"
	       "100 @18 enter openat\n100 @19 create h4 m2 c1 s0\n100 @19 leave openat\n"
	       "100 @20 create h3 m2 c1 s0\n100 @20 leave MPI_File_open\n"
	       "100 @21 create h2 m2 c3 s0\n100 @21 leave H5Fcreate\n"
	       "100 @22 create h1 m2 c3 s0\n100 @22 leave nc_create_par\n"
	       "100 @30 enter MPI_File_write_at_all\n100 @30 begin h3 m1 f2 ? at 64 #1\n100 @31 complete h3 ? #1\n"
	       "100 @31 leave MPI_File_write_at_all\n"
	       "100 @32 enter H5Dcreate2\n100 @33 create h5 m2 c1 s0\n100 @33 leave H5Dcreate2\n"
	       "100 @34 enter nc_close\n100 @35 destroy h1\n100 @35 leave nc_close\n"
	       "200 @50 enter nc_create_par\n200 @52 enter H5Fcreate\n200 @54 enter MPI_File_open\n"
	       "200 @56 enter openat\n200 @57 create h6 m0 c0 s0\n200 @57 leave openat\n"
	       "200 @58 enter openat\n200 @59 create h7 m2 c1 s0\n200 @59 leave openat\n"
	       "200 @60 create h3 m2 c1 s0\n200 @60 leave MPI_File_open\n"
	       "200 @61 create h2 m2 c3 s0\n200 @61 leave H5Fcreate\n"
	       "200 @62 create h1 m2 c3 s0\n200 @62 leave nc_create_par\n");
	expect_handle(0, "/proc/self/maps", "POSIX", -1);
	expect_handle(1, "/w/out.nc", "netCDF", -1);
	expect_handle(2, "/w/out.nc", "HDF5", 1);
	expect_handle(3, "/w/out.nc", "MPI-IO", 2);
	expect_handle(4, "/w/out.nc", "POSIX", 3);
	expect_handle(5, "/w/out.nc", "HDF5", 2);
	expect_handle(7, "/w/out.nc", "POSIX", 3);
	assert_string_equal(handle_at(5)->name, "temp");
	assert_int_equal(sb.model.comms.n, 2);
	assert_int_equal(sb.model.comms.v[1].kind, COMM_KIND_SELF);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(handle_at(i)->comm, 0);
	assert_int_equal(sb.model.comms.v[0].nmembers, 2);
	assert_int_equal(sb.model.comms.v[0].members[0], 1);
	assert_int_equal(sb.model.comms.v[0].members[1], 0);
	assert_string_equal(sb.model.groups.v[0].name, "MPI Rank 1");
	assert_true(sb.model.paradigms.v[handle_at(2)->paradigm].parallel);
}

static void outer_create_fails(void **state)
{
	(void)state;
	sb_rank(&sb, 100, 0);
	chain_down(100, 10, true);
	sb_call(&sb, 100, "H5Fcreate", 40, 41, 0, -1, ARGS(STR(PATH, "never"), ARG(FLAGS, 2)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, "100 @21 leave H5Fcreate failed 0\n100 @22 leave nc_create_par failed -101\n"));
	assert_null(strstr(sb.events, "create h1 "));
	assert_null(strstr(sb.events, "create h2 "));
	assert_int_equal(sb.model.handles.n, 5);
	expect_handle(2, "/w/out.nc", "HDF5", 1);
}

static void communicators(void **state)
{
	(void)state;
	sb_rank(&sb, 100, 0);
	sb_call(&sb, 100, "MPI_Comm_dup", 10, 11, 0, 0, ARGS(ARG(COMM, 0x1000), ARG(COMM_OUT, 0x3000)));
	for (int i = 0; i < 3; i++) {
		const int64_t comms[] = { 0x3000, 0x2000, 0x4444 };

		sb_enter(&sb, 100, "MPI_File_open", 20 + 10 * i, 21 + 10 * i, 0,
			 ARGS(STR(PATH, "/f"), ARG(FLAGS, 2), ARG(COMM, comms[i])));
		sb_exit(&sb, 100, "MPI_File_open", 20 + 10 * i, 25 + 10 * i, 0, 0, ARGS(ARG(HANDLE, 0x900 + i)));
	}
	sb_call(&sb, 100, "MPI_File_write_all", 60, 61, 0, 0, ARGS(ARG(HANDLE, 0x902)));
	sb_call(&sb, 100, "MPI_File_iwrite", 62, 63, 0, 0, ARGS(ARG(HANDLE, 0x900), ARG(REQUEST, 1)));
	sb_call(&sb, 100, "MPI_File_write_all_begin", 64, 65, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_call(&sb, 100, "MPI_File_write_all_end", 66, 67, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.comms.v[handle_at(0)->comm].kind, COMM_KIND_WORLD);
	assert_int_equal(sb.model.comms.v[handle_at(1)->comm].kind, COMM_KIND_SELF);
	assert_int_equal(handle_at(2)->comm, REF_NONE);
	assert_non_null(strstr(sb.events, "begin h2 m1 f0 ? #1\n"));    /* no communicator known: not collective */
	assert_non_null(strstr(sb.events, "begin h0 m1 f1 ? #2\n100 @63 issued h0 #2\n"));
	assert_non_null(strstr(sb.events, "begin h0 m1 f3 ? #3\n100 @65 issued h0 #3\n"));
	assert_non_null(strstr(sb.events, "100 @67 complete h0 ? #3\n"));
	assert_null(strstr(sb.events, "complete h0 ? #2"));
}

static void serial_build_is_not_collective(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LIBRARY, 100, 2, "layer=HDF5\npath=/lib/libhdf5.so\nparallel=0\n", NULL);
	sb_call(&sb, 100, "H5Fcreate", 10, 11, 0, 77, ARGS(STR(PATH, "/s.h5"), ARG(FLAGS, 2)));
	sb_call(&sb, 100, "H5Idec_ref", 20, 21, 0, 1, ARGS(ARG(HANDLE, 77)));
	sb_call(&sb, 100, "H5Idec_ref", 22, 23, 0, 0, ARGS(ARG(HANDLE, 999)));
	sb_call(&sb, 100, "H5Idec_ref", 30, 31, 0, 0, ARGS(ARG(HANDLE, 77)));
	expect("100 @10 enter H5Fcreate\n100 @11 create h0 m2 c3 s0\n100 @11 leave H5Fcreate\n"
	       "100 @20 enter H5Idec_ref\n100 @21 leave H5Idec_ref\n"
	       "100 @22 enter H5Idec_ref\n100 @23 leave H5Idec_ref\n"
	       "100 @30 enter H5Idec_ref\n100 @31 destroy h0\n100 @31 leave H5Idec_ref\n");
	assert_false(sb.model.paradigms.v[handle_at(0)->paradigm].parallel);
	assert_int_equal(handle_at(0)->comm, REF_NONE);
}

/* errno from the system call that failed inside, even if another one worked after it; the end of a file is no failure. */
static void stream_errors(void **state)
{
	(void)state;
	sb_call(&sb, 100, "fopen", 1, 2, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r+")));
	sb_enter(&sb, 100, "fgetc", 10, 11, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "read", 12, 13, 1, 0, ARGS(ARG(HANDLE, 3), ARG(BYTES, 4096)));
	sb_exit(&sb, 100, "fgetc", 10, 14, 0, 0xffffffff, NO_ARGS);
	sb_enter(&sb, 100, "fscanf", 15, 16, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "read", 17, 18, 1, 0, ARGS(ARG(HANDLE, 3), ARG(BYTES, 4096)));
	sb_exit(&sb, 100, "fscanf", 15, 19, 0, 0xffffffff, NO_ARGS);
	sb_enter(&sb, 100, "fread", 20, 21, 0, ARGS(ARG(SIZE, 2), ARG(ITEMS, 5), ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "read", 22, 23, 1, -5, ARGS(ARG(HANDLE, 3), ARG(BYTES, 4096)));
	sb_exit(&sb, 100, "fread", 20, 24, 0, 0, NO_ARGS);
	sb_enter(&sb, 100, "fclose", 30, 31, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "write", 32, 33, 1, -28, ARGS(ARG(HANDLE, 3), ARG(BYTES, 1)));
	sb_call(&sb, 100, "fsync", 34, 35, 1, 0, ARGS(ARG(HANDLE, 3)));
	sb_exit(&sb, 100, "fclose", 30, 36, 0, 0xffffffff, NO_ARGS);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, " 0 #1\n100 @14 leave fgetc\n"));
	assert_non_null(strstr(sb.events, " ? #3\n100 @19 leave fscanf\n"));        /* it may have passed over blanks */
	assert_non_null(strstr(sb.events, "100 @24 leave fread failed 5\n"));
	assert_non_null(strstr(sb.events, "100 @36 leave fclose failed 28\n"));
	assert_null(strstr(sb.events, "destroy"));
	assert_int_equal(sb.model.totals.unknown_sizes, 1);
}

#define STREAM(unread, limit) ARGS(ARG(HANDLE, 0x700), ARG(UNREAD, unread), ARG(LIMIT, limit))
#define STREAM2(unread, limit) ARGS(ARG(UNREAD2, unread), ARG(LIMIT2, limit))

static void scanf_call(uint64_t enter, uint64_t leave, int64_t state, int64_t unread, int64_t unread2, int64_t limit)
{
	sb_call(&sb, 100, "fscanf", enter, leave, 0, 1,
		ARGS(ARG(HANDLE, 0x700), ARG(STATE, state), ARG(UNREAD, unread), ARG(LIMIT, 0x1010), ARG(STATE2, 0),
		     ARG(UNREAD2, unread2), ARG(LIMIT2, limit)));
}

/* Bytes of formatted input, from the stream's buffer and the reads inside. */
static void stream_input(void **state)
{
	(void)state;
	sb_open(&sb, 100, 1, 2, 0, 3, "/f", O_RDONLY);
	sb_open(&sb, 100, 3, 4, 0, 4, "/other", O_RDONLY);
	sb_call(&sb, 100, "fopen", 5, 6, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r")));
	for (int i = 0; i < 2; i++) {   /* of the file, of another one (a stream of fopencookie) */
		sb_enter(&sb, 100, "fscanf", 10 + 10 * i, 11 + 10 * i, 0, STREAM(0x1000, 0x1004));
		sb_call(&sb, 100, "read", 12 + 10 * i, 13 + 10 * i, 1, 16, ARGS(ARG(HANDLE, 3 + i), ARG(BYTES, 4096)));
		sb_exit(&sb, 100, "fscanf", 10 + 10 * i, 14 + 10 * i, 0, 1, STREAM2(0x1007, 0x1010));
	}
	scanf_call(30, 31, 0, 0x1007, 0x1009, 0x1010);
	scanf_call(32, 33, 0x100, 0x1009, 0x100a, 0x1010);      /* ungetc */
	scanf_call(34, 35, 0, 0x100a, 0x100b, 0x1008);          /* read from something that is not recorded */
	replay();
	assert_non_null(strstr(sb.events, "@14 complete h2 11 #1\n"));
	assert_non_null(strstr(sb.events, "@24 complete h2 ? #3\n"));
	assert_non_null(strstr(sb.events, "@31 complete h2 2 #5\n"));
	assert_non_null(strstr(sb.events, "@33 complete h2 ? #6\n"));
	assert_non_null(strstr(sb.events, "@35 complete h2 ? #7\n"));
}

/* A read inside may have been in the records that were lost. */
static void stream_input_with_a_loss(void **state)
{
	(void)state;
	sb_open(&sb, 100, 1, 2, 0, 3, "/f", O_RDONLY);
	sb_call(&sb, 100, "fopen", 5, 6, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r")));
	for (int i = 0; i < 2; i++) {
		sb_enter(&sb, 100, "fscanf", 10 + 10 * i, 11 + 10 * i, 0, STREAM(0x1000, 0x1004));
		sb_call(&sb, 100, "read", 12 + 10 * i, 13 + 10 * i, 1, 16, ARGS(ARG(HANDLE, 3), ARG(BYTES, 4096)));
		sb.seq[100] += !i;
		sb_exit(&sb, 100, "fscanf", 10 + 10 * i, 14 + 10 * i, 0, 1, STREAM2(0x1007, 0x1010));
	}
	replay();
	assert_non_null(strstr(sb.events, "@14 complete h1 ? #1\n"));
	assert_non_null(strstr(sb.events, "@24 complete h1 11 #3\n"));
}

#define LINE(moved, state, unread, unread2) \
	ARGS(moved, ARG(ARG, 100), ARG(HANDLE, 0x700), ARG(STATE, state), ARG(UNREAD, unread), ARG(LIMIT, 0x1010), \
	     ARG(UNREAD2, unread2), ARG(LIMIT2, 0x1010))

/* Bytes of a line whose string does not show its length; a read after the end of the file has not failed. */
static void stream_lines(void **state)
{
	(void)state;
	sb_open(&sb, 100, 1, 2, 0, 3, "/f", O_RDONLY);
	sb_call(&sb, 100, "fopen", 5, 6, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r")));
	sb_call(&sb, 100, "fgets", 10, 11, 0, 1, ARGS(ARG(MOVED, 4), ARG(ARG, 100), ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fgets", 12, 13, 0, 1, LINE(UNREADABLE(MOVED), 0, 0x1004, 0x1009));
	sb_call(&sb, 100, "fgets", 14, 15, 0, 1, LINE(UNREADABLE(MOVED), 0x100, 0x1009, 0x100a));
	sb_call(&sb, 100, "fgets", 16, 17, 0, 0, LINE(ARG(MOVED, 4), 0x10, 0x1010, 0x1010));
	sb_call(&sb, 100, "fgets", 18, 19, 0, 0, LINE(ARG(MOVED, 4), 0, 0x1010, 0x1010));
	replay();
	assert_non_null(strstr(sb.events, "@11 complete h1 4 #1\n"));
	assert_non_null(strstr(sb.events, "@13 complete h1 5 #2\n"));
	assert_non_null(strstr(sb.events, "@15 complete h1 ? #3\n"));      /* ungetc */
	assert_non_null(strstr(sb.events, "@17 complete h1 0 #4\n100 @17 leave fgets\n"));
	assert_non_null(strstr(sb.events, "@19 leave fgets failed"));
}

/* A filter may have excluded other reads inside. */
static void stream_input_with_a_filter(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LEFT_OUT, 0, 1, "filter=--min-bytes 10\nlayer=POSIX\n", NULL);
	sb_open(&sb, 100, 1, 2, 0, 3, "/f", O_RDONLY);
	sb_call(&sb, 100, "fopen", 5, 6, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r")));
	sb_enter(&sb, 100, "fscanf", 10, 11, 0, STREAM(0x1000, 0x1004));
	sb_call(&sb, 100, "read", 12, 13, 1, 16, ARGS(ARG(HANDLE, 3), ARG(BYTES, 4096)));
	sb_exit(&sb, 100, "fscanf", 10, 14, 0, 1, STREAM2(0x1007, 0x1010));
	replay();
	assert_non_null(strstr(sb.events, "@14 complete h1 ? #1\n"));
}

/* Where a filter may have excluded the system call that would tell, the end of a file is not taken for a failure. */
static void stream_ends_with_a_filter(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_LEFT_OUT, 0, 1, "filter=--layers isoc\nlayer=POSIX\n", NULL);
	sb_call(&sb, 100, "fopen", 2, 3, 0, 0x700, ARGS(STR(PATH, "/f"), STR(STREAM_MODE, "r")));
	sb_call(&sb, 100, "fgetc", 10, 14, 0, 0xffffffff, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fgets", 20, 24, 0, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fclose", 30, 36, 0, 0xffffffff, ARGS(ARG(HANDLE, 0x700)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_non_null(strstr(sb.events, " ? #1\n100 @14 leave fgetc\n"));
	assert_non_null(strstr(sb.events, " ? #2\n100 @24 leave fgets\n"));
	assert_non_null(strstr(sb.events, "100 @36 leave fclose failed 0\n"));
	assert_int_equal(sb.model.totals.failed_calls, 1);
	assert_int_equal(sb.model.totals.unknown_sizes, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stream_with_descriptor), TEST(stream_of_before), TEST(collective_after_attach), TEST(unified_over_ranks),
		TEST(outer_create_fails), TEST(communicators), TEST(serial_build_is_not_collective), TEST(stream_errors),
		TEST(stream_input), TEST(stream_input_with_a_loss), TEST(stream_input_with_a_filter), TEST(stream_lines),
		TEST(stream_ends_with_a_filter), TEST(standard_streams), TEST(stream_in_freopen), TEST(other_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
