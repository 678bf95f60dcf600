/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The replay's rules, each by a small spool and the exact events and definitions that must come of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "replay_fixture.h"

static const struct model_handle *handle(size_t ref)
{
	assert_true(ref < sb.model.handles.n);
	return &sb.model.handles.v[ref];
}

static void expect_handle(size_t ref, const char *path, const char *paradigm, int64_t parent)
{
	const struct model_handle *h = handle(ref);

	if (path)
		assert_string_equal(sb.model.files.v[h->file].path, path);
	else
		assert_int_equal(h->file, REF_NONE);
	assert_string_equal(sb.model.paradigms.v[h->paradigm].identification, paradigm);
	assert_int_equal(h->parent, parent < 0 ? REF_NONE : parent);
}

static void rw(uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int fd, size_t bytes, int64_t ret)
{
	sb_call(&sb, tid, function, enter, leave, depth, ret, ARGS(ARG(HANDLE, fd), ARG(BYTES, bytes)));
}

static void close_fd(uint32_t tid, uint64_t enter, uint64_t leave, int fd)
{
	sb_call(&sb, tid, "close", enter, leave, 0, 0, ARGS(ARG(HANDLE, fd)));
}

/* ---- descriptors ---- */

static void open_write_close(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n", "29 1 8:2 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 / /d rw - nfs4 srv:/d rw\n");
	sb_open(&sb, 100, 10, 20, 0, 3, "/d/f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
	rw(100, "write", 30, 40, 0, 3, 100, 60);
	sb_call(&sb, 100, "pwrite64", 50, 60, 0, 8, ARGS(ARG(HANDLE, 3), ARG(BYTES, 8), ARG(OFFSET, 4096)));
	sb_call(&sb, 100, "lseek", 61, 62, 0, 4104, ARGS(ARG(HANDLE, 3), ARG(OFFSET, 0), ARG(WHENCE, SEEK_END)));
	close_fd(100, 70, 80, 3);
	expect("100 @10 enter openat\n100 @20 create h0 m1 c3 s1\n100 @20 leave openat\n"
	       "100 @30 enter write\n100 @30 begin h0 m1 f0 100 #1\n100 @40 complete h0 60 #1\n100 @40 leave write\n"
	       "100 @50 enter pwrite64\n100 @50 begin h0 m1 f0 8 at 4096 #2\n100 @60 complete h0 8 #2\n100 @60 leave pwrite64\n"
	       "100 @61 enter lseek\n100 @62 seek h0 0 w2 4104\n100 @62 leave lseek\n"
	       "100 @70 enter close\n100 @80 destroy h0\n100 @80 leave close\n");
	expect_handle(0, "/d/f", "POSIX", -1);
	assert_false(handle(0)->precreated);
	assert_string_equal(sb.model.files.v[0].mount_point, "/d");
	assert_string_equal(sb.model.files.v[0].mount_source, "srv:/d");
	assert_int_equal(sb.model.files.v[0].scope, SCOPE_SHARED);
	assert_string_equal(sb.model.groups.v[0].name, "app (pid 100)");
	assert_int_equal(sb.model.totals.calls, 5);
	assert_int_equal(sb.model.totals.lost_records, 0);
	assert_int_equal(sb.model.clock_begin_ns, 10);
	assert_int_equal(sb.model.clock_end_ns, 80);
	assert_int_equal(sb.model.realtime_at_begin_ns, 1000010);
	assert_false(sb.model.complete);
}

static void failed_calls(void **state)
{
	(void)state;
	sb_call(&sb, 100, "openat", 10, 20, 0, -ENOENT, ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "/nope"), ARG(FLAGS, O_RDONLY)));
	rw(100, "write", 30, 40, 0, 9, 5, -EBADF);
	close_fd(100, 50, 60, 9);
	sb_call(&sb, 100, "unlink", 70, 80, 0, -EACCES, ARGS(STR(PATH, "/x")));
	sb_open(&sb, 100, 90, 100, 0, 4, "/f", O_RDONLY);
	rw(100, "write", 110, 120, 0, 4, 5, -EBADF);
	expect("100 @10 enter openat\n100 @20 leave openat failed 2\n"
	       "100 @30 enter write\n100 @40 leave write failed 9\n"
	       "100 @50 enter close\n100 @60 destroy h0\n100 @60 leave close\n"      /* it worked: the number was open, undescribed */
	       "100 @70 enter unlink\n100 @80 leave unlink failed 13\n"
	       "100 @90 enter openat\n100 @100 create h1 m0 c0 s0\n100 @100 leave openat\n"
	       "100 @110 enter write\n100 @110 begin h1 m1 f0 5 #1\n100 @120 complete h1 ? #1\n100 @120 leave write failed 9\n");
	assert_string_equal(handle(0)->name, "fd 9");
	assert_true(handle(0)->precreated);
	assert_true(noted("1 descriptors without a description were used"));
	assert_int_equal(sb.model.totals.failed_calls, 4);
}

static void open_before_attach(void **state)
{
	(void)state;
	sb_fd(&sb, 100, 5, 1, "/log", O_WRONLY | O_APPEND, IOP_F_SCAN);
	sb_fd(&sb, 100, 5, 7, "/unused", O_RDONLY, IOP_F_SCAN);
	rw(100, "write", 10, 20, 0, 1, 3, 3);
	sb_fd_special(&sb, 100, 25, 5, S_IFIFO | 0600, 42);
	rw(100, "read", 30, 40, 0, 5, 9, 9);
	close_fd(100, 50, 60, 5);
	sb_fd_special(&sb, 100, 65, 5, S_IFSOCK | 0600, 43);
	rw(100, "read", 70, 80, 0, 5, 9, 0);
	expect("100 @10 enter write\n100 @10 begin h0 m1 f0 3 #1\n100 @20 complete h0 3 #1\n100 @20 leave write\n"
	       "100 @30 enter read\n100 @30 begin h2 m0 f0 9 #2\n100 @40 complete h2 9 #2\n100 @40 leave read\n"
	       "100 @50 enter close\n100 @60 destroy h2\n100 @60 leave close\n"
	       "100 @70 enter read\n100 @70 begin h3 m0 f0 9 #3\n100 @80 complete h3 0 #3\n100 @80 leave read\n");
	expect_handle(0, "/log", "POSIX", -1);
	expect_handle(1, "/unused", "POSIX", -1);
	expect_handle(2, "pipe:[42]", "POSIX", -1);
	expect_handle(3, "socket:[43]", "POSIX", -1);
	assert_string_equal(handle(0)->name, "stdout");
	assert_int_equal(handle(0)->pre_mode, 1);
	assert_int_equal(handle(0)->pre_status_flags, 2);
	assert_true(handle(0)->precreated && handle(1)->precreated && handle(2)->precreated);
}

/* Thread 101 closes while 102 opens and gets the same number; the close returns last. */
static void close_races_with_open(void **state)
{
	(void)state;
	sb_open(&sb, 101, 10, 20, 0, 3, "/a", O_RDWR);
	sb_open(&sb, 102, 32, 40, 0, 3, "/b", O_RDWR);
	close_fd(101, 30, 50, 3);
	rw(102, "write", 45, 60, 0, 3, 1, 1);
	expect("101 @10 enter openat\n101 @20 create h0 m2 c0 s0\n101 @20 leave openat\n"
	       "102 @32 enter openat\n102 @40 create h1 m2 c0 s0\n102 @40 leave openat\n"
	       "101 @30 enter close\n101 @50 destroy h0\n101 @50 leave close\n"
	       "102 @45 enter write\n102 @45 begin h1 m1 f0 1 #1\n102 @60 complete h1 1 #1\n102 @60 leave write\n");
}

static void duplicates(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 20, 0, 3, "/a", O_WRONLY | O_CLOEXEC);
	sb_open(&sb, 100, 21, 22, 0, 4, "/b", O_RDONLY);
	sb_fd(&sb, 100, 31, 4, "/a", O_WRONLY, 0);
	sb_call(&sb, 100, "dup2", 30, 31, 0, 4, ARGS(ARG(HANDLE, 3), ARG(HANDLE2, 4)));
	sb_call(&sb, 100, "dup2", 32, 33, 0, 4, ARGS(ARG(HANDLE, 4), ARG(HANDLE2, 4)));
	sb_call(&sb, 100, "fcntl", 40, 41, 0, 10, ARGS(ARG(HANDLE, 3), ARG(CMD, F_DUPFD_CLOEXEC), ARG(ARG, 10)));
	sb_call(&sb, 100, "fcntl", 50, 51, 0, 0, ARGS(ARG(HANDLE, 4), ARG(CMD, F_SETFL), ARG(ARG, O_APPEND | O_NONBLOCK)));
	sb_call(&sb, 100, "fcntl", 52, 53, 0, 0, ARGS(ARG(HANDLE, 4), ARG(CMD, F_SETFD), ARG(ARG, FD_CLOEXEC)));
	sb_call(&sb, 100, "flock", 54, 55, 0, 0, ARGS(ARG(HANDLE, 4), ARG(CMD, 1)));
	sb_call(&sb, 100, "flock", 56, 57, 0, 0, ARGS(ARG(HANDLE, 4), ARG(CMD, 8)));
	sb_call(&sb, 100, "close_range", 60, 61, 0, 0, ARGS(ARG(HANDLE, 4), ARG(HANDLE2, -1), ARG(FLAGS, 0)));
	expect("100 @10 enter openat\n100 @20 create h0 m1 c0 s1\n100 @20 leave openat\n"
	       "100 @21 enter openat\n100 @22 create h1 m0 c0 s0\n100 @22 leave openat\n"
	       "100 @30 enter dup2\n100 @31 destroy h1\n100 @31 duplicate h0 h2 s0\n100 @31 leave dup2\n"
	       "100 @32 enter dup2\n100 @33 leave dup2\n"
	       "100 @40 enter fcntl\n100 @41 duplicate h0 h3 s1\n100 @41 leave fcntl\n"
	       "100 @50 enter fcntl\n100 @51 status h2 s6\n100 @51 leave fcntl\n"
	       "100 @52 enter fcntl\n100 @53 status h2 s7\n100 @53 leave fcntl\n"
	       "100 @54 enter flock\n100 @55 lock h2 k1\n100 @55 leave flock\n"
	       "100 @56 enter flock\n100 @57 unlock h2 k1\n100 @57 leave flock\n"
	       "100 @60 enter close_range\n100 @61 destroy h2\n100 @61 destroy h3\n100 @61 leave close_range\n");
	expect_handle(2, "/a", "POSIX", -1);
}

static void record_lock(uint64_t enter, int cmd, int type, int64_t start, int64_t len, int64_t ret)
{
	sb_call(&sb, 100, "fcntl", enter, enter + 1, 0, ret, ARGS(ARG(HANDLE, 3), ARG(CMD, cmd), ARG(ARG, 0x7000), ARG(LOCK, type),
								   ARG(OFFSET, start), ARG(BYTES, len)));
}

/* What is given back is told with the kind of lock that was there. */
static void record_locks(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_RDWR);
	record_lock(20, F_SETLK, F_RDLCK, 0, 100, 0);
	record_lock(22, F_SETLKW, F_WRLCK, 50, -10, 0);         /* takes 40 to 49 out of the shared one */
	record_lock(24, F_SETLK, F_WRLCK, 0, 1, -EAGAIN);
	record_lock(26, F_SETLK, F_UNLCK, 45, 1, 0);
	record_lock(28, F_GETLK, F_WRLCK, 0, 0, 0);
	record_lock(30, F_OFD_SETLK, F_UNLCK, 0, 0, 0);         /* of another owner: nothing is held */
	record_lock(32, F_SETLK, F_UNLCK, 0, 0, 0);
	record_lock(34, F_SETLK, F_UNLCK, 0, 0, 0);
	record_lock(36, F_SETLK, F_WRLCK | SEEK_CUR << 16, 0, 5, 0);
	record_lock(38, F_SETLK, F_UNLCK | SEEK_CUR << 16, -5, 5, 0);
	record_lock(40, F_SETLKW, F_WRLCK, 0, 1, -EINTR);
	expect("100 @10 enter openat\n100 @11 create h0 m2 c0 s0\n100 @11 leave openat\n"
	       "100 @20 enter fcntl\n100 @21 lock h0 k1 0+100\n100 @21 leave fcntl\n"
	       "100 @22 enter fcntl\n100 @23 lock h0 k0 40+10\n100 @23 leave fcntl\n"
	       "100 @24 enter fcntl\n100 @25 trylock h0 k0 0+1\n100 @25 leave fcntl failed 11\n"
	       "100 @26 enter fcntl\n100 @27 unlock h0 k0 45+1\n100 @27 leave fcntl\n"
	       "100 @28 enter fcntl\n100 @29 leave fcntl\n"
	       "100 @30 enter fcntl\n100 @31 leave fcntl\n"
	       "100 @32 enter fcntl\n100 @33 unlock h0 k0 0+0\n100 @33 unlock h0 k1 0+0\n100 @33 leave fcntl\n"
	       "100 @34 enter fcntl\n100 @35 leave fcntl\n"
	       "100 @36 enter fcntl\n100 @37 lock h0 k0\n100 @37 leave fcntl\n"
	       "100 @38 enter fcntl\n100 @39 unlock h0 k0\n100 @39 leave fcntl\n"
	       "100 @40 enter fcntl\n100 @41 leave fcntl failed 4\n");
	assert_true(noted("2 unlocks without a matching recorded lock"));
}

static void copies_and_names(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\n", NULL);
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_RDONLY);
	sb_open(&sb, 100, 12, 13, 0, 4, "/b", O_WRONLY);
	sb_call(&sb, 100, "copy_file_range", 20, 21, 0, 7, ARGS(ARG(HANDLE, 3), ARG(HANDLE2, 4), ARG(BYTES, 9)));
	sb_call(&sb, 100, "unlink", 30, 31, 0, 0, ARGS(STR(PATH, "./x/../y")));
	sb_cwd(&sb, 100, 40, "/v");
	sb_call(&sb, 100, "chdir", 39, 40, 0, 0, ARGS(STR(PATH, "/v")));
	sb_call(&sb, 100, "rename", 50, 51, 0, 0, ARGS(STR(PATH, "old"), STR(PATH2, "new")));
	expect("100 @10 enter openat\n100 @11 create h0 m0 c0 s0\n100 @11 leave openat\n"
	       "100 @12 enter openat\n100 @13 create h1 m1 c0 s0\n100 @13 leave openat\n"
	       "100 @20 enter copy_file_range\n100 @20 begin h0 m0 f0 9 #1\n100 @20 begin h1 m1 f0 9 #2\n"
	       "100 @21 complete h1 7 #2\n100 @21 complete h0 7 #1\n100 @21 leave copy_file_range\n"
	       "100 @30 enter unlink\n100 @31 delete /w/y\n100 @31 leave unlink\n"
	       "100 @39 enter chdir\n100 @40 leave chdir\n"
	       "100 @50 enter rename\n100 @51 delete /v/old\n100 @51 leave rename\n");
}

/* ---- processes ---- */

static void fork_inherits(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_WRONLY | O_APPEND);
	sb_open(&sb, 100, 12, 13, 0, 4, "/b", O_WRONLY);
	sb_fork(&sb, 100, 20, 200);
	close_fd(100, 21, 22, 3);
	sb_fd(&sb, 200, 29, 3, "/a", O_WRONLY | O_APPEND, 0);
	rw(200, "write", 30, 31, 0, 3, 2, 2);
	close_fd(200, 40, 41, 3);
	expect("100 @10 enter openat\n100 @11 create h0 m1 c0 s2\n100 @11 leave openat\n"
	       "100 @12 enter openat\n100 @13 create h1 m1 c0 s0\n100 @13 leave openat\n"
	       "100 @21 enter close\n100 @22 destroy h0\n100 @22 leave close\n"
	       "200 @30 enter write\n200 @30 begin h2 m1 f0 2 #1\n200 @31 complete h2 2 #1\n200 @31 leave write\n"
	       "200 @40 enter close\n200 @41 destroy h2\n200 @41 leave close\n");
	assert_int_equal(sb.model.handles.n, 3);
	assert_true(handle(2)->precreated);
	assert_int_equal(handle(2)->group, 1);
	assert_int_equal(handle(2)->pre_status_flags, 2);
	assert_string_equal(sb.model.groups.v[1].name, "kid (pid 200)");
}

static void exec_from_a_thread(void **state)
{
	(void)state;
	sb_open(&sb, 100, 10, 11, 0, 3, "/a", O_WRONLY | O_CLOEXEC);
	sb_open(&sb, 100, 12, 13, 0, 4, "/b", O_WRONLY);
	sb_fork(&sb, 100, 14, 101);
	sb_enter(&sb, 100, "fflush", 15, 16, 0, ARGS(ARG(HANDLE, 0x500)));
	rw(101, "write", 20, 21, 0, 4, 1, 1);
	sb_exec(&sb, 100, 30, 101, "/bin/other-program");
	sb_fd(&sb, 100, 39, 4, "/b", O_WRONLY, 0);
	rw(100, "write", 40, 41, 0, 4, 1, 1);
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
	rw(200, "write", 10, 11, 0, 1, 1, 1);
	sb_task_exit(&sb, 200, 20, true);
	sb_fork(&sb, 100, 30, 200);
	rw(200, "write", 40, 41, 0, 1, 1, 1);
	expect("200 @10 enter write\n200 @10 begin h0 m1 f0 1 #1\n200 @11 complete h0 1 #1\n200 @11 leave write\n"
	       "200 @40 enter write\n200 @40 begin h1 m1 f0 1 #2\n200 @41 complete h1 1 #2\n200 @41 leave write\n");
	assert_int_equal(sb.model.groups.n, 3);
	assert_int_equal(sb.model.locations.n, 2);
	assert_true(sb.model.locations.v[0].id != sb.model.locations.v[1].id);
	assert_int_equal(sb.model.totals.lost_records, 0);
}

/* ---- stacks ---- */

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
	rw(100, "write", 3000000000, 3000000001, 0, 1, 1, 1);
	rw(101, "write", 1000000000, 1000000001, 0, 1, 2, 2);
	sb_round(&sb, 9000000000);
	rw(102, "write", 2000000000, 2000000001, 0, 1, 3, 3);      /* late, and the thread's first: still taken */
	seq = sb.seq[100];
	sb.seq[100] = 0;
	rw(100, "write", 2500000000, 2500000001, 0, 1, 4, 4);      /* late, and its place is taken: left out */
	sb.seq[100] = seq;
	expect("101 @1000000000 enter write\n101 @1000000000 begin h0 m1 f0 2 #1\n"
	       "101 @1000000001 complete h0 2 #1\n101 @1000000001 leave write\n"
	       "100 @3000000000 enter write\n100 @3000000000 begin h0 m1 f0 1 #2\n100 @3000000001 complete h0 1 #2\n100 @3000000001 leave write\n"
	       "102 @2000000000 enter write\n102 @2000000000 begin h0 m1 f0 3 #3\n"
	       "102 @2000000001 complete h0 3 #3\n102 @2000000001 leave write\n");
	assert_true(sb.model.totals.late_records >= 2);
}

/* ---- library handles ---- */

static void stream_with_descriptor(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\n", NULL);
	sb_enter(&sb, 100, "fopen", 10, 11, 0, ARGS(STR(PATH, "link/f"), STR(STREAM_MODE, "a+")));
	sb_fd(&sb, 100, 16, 3, "/real/f", O_RDWR | O_APPEND, 0);
	sb_call(&sb, 100, "openat", 12, 15, 1, 3, ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "link/f"), ARG(FLAGS, O_RDWR | O_CREAT | O_APPEND)));
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
	rw(100, "write", 13, 14, 1, 3, 4, 4);
	sb_exit(&sb, 100, "fflush", 10, 20, 0, 0, NO_ARGS);
	sb_call(&sb, 100, "fclose", 30, 31, 0, 0, ARGS(ARG(HANDLE, 0x700)));
	sb_call(&sb, 100, "fflush", 40, 41, 0, 0, ARGS(ARG(HANDLE, 0)));
	expect("100 @10 enter fflush\n100 @10 begin h0 m2 f0 ? #1\n"
	       "100 @13 enter write\n100 @13 begin h1 m1 f0 4 #2\n100 @14 complete h1 4 #2\n100 @14 leave write\n"
	       "100 @20 complete h0 ? #1\n100 @20 leave fflush\n"
	       "100 @30 enter fclose\n100 @31 destroy h0\n100 @31 leave fclose\n"
	       "100 @40 enter fflush\n100 @41 leave fflush\n");
	expect_handle(0, "/old", "ISOC", -1);
	assert_true(handle(0)->precreated);
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
	assert_string_equal(handle(1)->name, "stdout");
	assert_string_equal(handle(2)->name, "stderr");
	expect_handle(3, "/log", "ISOC", -1);
	assert_string_equal(handle(4)->name, "stdin");
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
	assert_string_equal(handle(1)->name, "stdout");
	expect_handle(1, "/log", "ISOC", -1);
	expect_handle(3, "/f", "ISOC", -1);
	expect_handle(4, "/g", "ISOC", -1);
	expect_handle(5, "/g", "ISOC", -1);
	assert_true(handle(5)->precreated && !handle(4)->precreated);
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
	struct iop_rec_call rec = { .rec = { .len = sizeof(rec), .type = IOP_REC_CALL, .tid = 100, .tgid = 100, .seq = 1, .time_ns = 9 },
				    .probe = 60000 };

	(void)state;
	assert_int_equal(spool_writer_append(sb.writer, &rec.rec), 0);
	sb_replay(&sb);
	assert_int_equal(sb.ret, -EINVAL);
	assert_non_null(strstr(sb.err, "names probe 60000"));
}

/* nc_create_par > H5Fcreate > MPI_File_open > openat, with a foreign file opened between. */
static void chain_down(uint32_t tid, uint64_t t, bool fails)
{
	sb_enter(&sb, tid, "nc_create_par", t, t + 1, 0, ARGS(STR(PATH, "out.nc"), ARG(FLAGS, 0x1000), ARG(COMM, 0x1000)));
	sb_enter(&sb, tid, "H5Fcreate", t + 2, t + 3, 1, ARGS(STR(PATH, "out.nc"), ARG(FLAGS, 2)));
	sb_enter(&sb, tid, "MPI_File_open", t + 4, t + 5, 2, ARGS(STR(PATH, "ufs:out.nc"), ARG(FLAGS, 9), ARG(COMM, 0x1000)));
	sb_open(&sb, tid, t + 6, t + 7, 3, 8, "/proc/self/maps", O_RDONLY);
	sb_fd(&sb, tid, t + 9, 9, "/w/out.nc", O_RDWR, 0);
	sb_call(&sb, tid, "openat", t + 8, t + 9, 3, 9, ARGS(ARG(DIRFD, AT_FDCWD), STR(PATH, "out.nc"), ARG(FLAGS, O_RDWR | O_CREAT)));
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
	assert_string_equal(handle(5)->name, "temp");
	assert_int_equal(sb.model.comms.n, 2);
	assert_int_equal(sb.model.comms.v[1].kind, COMM_KIND_SELF);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(handle(i)->comm, 0);
	assert_int_equal(sb.model.comms.v[0].nmembers, 2);
	assert_int_equal(sb.model.comms.v[0].members[0], 1);
	assert_int_equal(sb.model.comms.v[0].members[1], 0);
	assert_string_equal(sb.model.groups.v[0].name, "MPI Rank 1");
	assert_true(sb.model.paradigms.v[handle(2)->paradigm].parallel);
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

		sb_enter(&sb, 100, "MPI_File_open", 20 + 10 * i, 21 + 10 * i, 0, ARGS(STR(PATH, "/f"), ARG(FLAGS, 2), ARG(COMM, comms[i])));
		sb_exit(&sb, 100, "MPI_File_open", 20 + 10 * i, 25 + 10 * i, 0, 0, ARGS(ARG(HANDLE, 0x900 + i)));
	}
	sb_call(&sb, 100, "MPI_File_write_all", 60, 61, 0, 0, ARGS(ARG(HANDLE, 0x902)));
	sb_call(&sb, 100, "MPI_File_iwrite", 62, 63, 0, 0, ARGS(ARG(HANDLE, 0x900), ARG(REQUEST, 1)));
	sb_call(&sb, 100, "MPI_File_write_all_begin", 64, 65, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_call(&sb, 100, "MPI_File_write_all_end", 66, 67, 0, 0, ARGS(ARG(HANDLE, 0x900)));
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_int_equal(sb.model.comms.v[handle(0)->comm].kind, COMM_KIND_WORLD);
	assert_int_equal(sb.model.comms.v[handle(1)->comm].kind, COMM_KIND_SELF);
	assert_int_equal(handle(2)->comm, REF_NONE);
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
	assert_false(sb.model.paradigms.v[handle(0)->paradigm].parallel);
	assert_int_equal(handle(0)->comm, REF_NONE);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

/* ---- mounts ---- */

static enum model_scope scope_of(const char *path)
{
	for (size_t i = 0; i < sb.model.files.n; i++)
		if (!strcmp(sb.model.files.v[i].path, path))
			return sb.model.files.v[i].scope;
	fail_msg("no file %s", path);
	return SCOPE_UNKNOWN;
}

/* The builder's files are on mount 30 and device 8:1. The kernel gives a mount's number to another file system when it is free. */
static void mount_numbers_are_reused(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n", "30 29 0:40 / /d rw - ramfs none rw\n");
	sb_open(&sb, 100, 10, 20, 0, 3, "/d/unknown", O_RDONLY);
	expect("100 @10 enter openat\n100 @20 create h0 m0 c0 s0\n100 @20 leave openat\n");
	assert_int_equal(scope_of("/d/unknown"), SCOPE_UNKNOWN);
	assert_null(sb.model.files.v[0].fs_type);
}

static void mount_of_another_time(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n", "30 29 8:1 / /d rw - nfs4 srv:/d rw\n");
	sb_text(&sb, IOP_REC_MOUNTS, 100, 500, "mntns=mnt:[1]\n", "30 29 8:1 / /d rw - ext4 /dev/sdb rw\n");
	sb_open(&sb, 100, 10, 20, 0, 3, "/d/early", O_RDONLY);
	sb_open(&sb, 100, 600, 610, 0, 4, "/d/late", O_RDONLY);
	replay();
	assert_int_equal(scope_of("/d/early"), SCOPE_SHARED);
	assert_int_equal(scope_of("/d/late"), SCOPE_NODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mount_numbers_are_reused), TEST(mount_of_another_time),
		TEST(open_write_close), TEST(failed_calls), TEST(open_before_attach), TEST(close_races_with_open), TEST(duplicates),
		TEST(record_locks), TEST(copies_and_names), TEST(fork_inherits), TEST(exec_from_a_thread), TEST(numbers_used_again), TEST(nested_and_abandoned),
		TEST(recorded_at_entry_only),
		TEST(losses), TEST(records_out_of_order), TEST(stream_with_descriptor), TEST(stream_of_before), TEST(collective_after_attach), TEST(unified_over_ranks),
		TEST(outer_create_fails), TEST(communicators), TEST(serial_build_is_not_collective), TEST(delete_on_close), TEST(stream_errors), TEST(stream_ends_with_a_filter),
		TEST(notes_and_end), TEST(standard_streams), TEST(stream_in_freopen), TEST(other_streams), TEST(clock_read_first), TEST(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
