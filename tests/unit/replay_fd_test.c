/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The replay of descriptors: opens, duplicates, closes, locks, and the mounts that their files are on.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "replay_fixture.h"

static void open_write_close(void **state)
{
	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n",
		"29 1 8:2 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 / /d rw - nfs4 srv:/d rw\n");
	sb_open(&sb, 100, 10, 20, 0, 3, "/d/f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
	read_or_write(100, "write", 30, 40, 0, 3, 100, 60);
	sb_call(&sb, 100, "pwrite64", 50, 60, 0, 8, ARGS(ARG(HANDLE, 3), ARG(BYTES, 8), ARG(OFFSET, 4096)));
	sb_call(&sb, 100, "lseek", 61, 62, 0, 4104, ARGS(ARG(HANDLE, 3), ARG(OFFSET, 0), ARG(WHENCE, SEEK_END)));
	close_descriptor(100, 70, 80, 3);
	expect("100 @10 enter openat\n100 @20 create h0 m1 c3 s1\n100 @20 leave openat\n"
	       "100 @30 enter write\n100 @30 begin h0 m1 f0 100 #1\n100 @40 complete h0 60 #1\n100 @40 leave write\n"
	       "100 @50 enter pwrite64\n100 @50 begin h0 m1 f0 8 at 4096 #2\n100 @60 complete h0 8 #2\n100 @60 leave pwrite64\n"
	       "100 @61 enter lseek\n100 @62 seek h0 0 w2 4104\n100 @62 leave lseek\n"
	       "100 @70 enter close\n100 @80 destroy h0\n100 @80 leave close\n");
	expect_handle(0, "/d/f", "POSIX", -1);
	assert_false(handle_at(0)->precreated);
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
	read_or_write(100, "write", 30, 40, 0, 9, 5, -EBADF);
	close_descriptor(100, 50, 60, 9);
	sb_call(&sb, 100, "unlink", 70, 80, 0, -EACCES, ARGS(STR(PATH, "/x")));
	sb_open(&sb, 100, 90, 100, 0, 4, "/f", O_RDONLY);
	read_or_write(100, "write", 110, 120, 0, 4, 5, -EBADF);
	expect("100 @10 enter openat\n100 @20 leave openat failed 2\n"
	       "100 @30 enter write\n100 @40 leave write failed 9\n"
	       /* it worked: the number was open, undescribed */
	       "100 @50 enter close\n100 @60 destroy h0\n100 @60 leave close\n"
	       "100 @70 enter unlink\n100 @80 leave unlink failed 13\n"
	       "100 @90 enter openat\n100 @100 create h1 m0 c0 s0\n100 @100 leave openat\n"
	       "100 @110 enter write\n100 @110 begin h1 m1 f0 5 #1\n100 @120 complete h1 ? #1\n100 @120 leave write failed 9\n");
	assert_string_equal(handle_at(0)->name, "fd 9");
	assert_true(handle_at(0)->precreated);
	assert_true(noted("1 descriptors without a description were used"));
	assert_int_equal(sb.model.totals.failed_calls, 4);
}

static void open_before_attach(void **state)
{
	(void)state;
	sb_fd(&sb, 100, 5, 1, "/log", O_WRONLY | O_APPEND, IOP_F_SCAN);
	sb_fd(&sb, 100, 5, 7, "/unused", O_RDONLY, IOP_F_SCAN);
	read_or_write(100, "write", 10, 20, 0, 1, 3, 3);
	sb_fd_special(&sb, 100, 25, 5, S_IFIFO | 0600, 42);
	read_or_write(100, "read", 30, 40, 0, 5, 9, 9);
	close_descriptor(100, 50, 60, 5);
	sb_fd_special(&sb, 100, 65, 5, S_IFSOCK | 0600, 43);
	read_or_write(100, "read", 70, 80, 0, 5, 9, 0);
	expect("100 @10 enter write\n100 @10 begin h0 m1 f0 3 #1\n100 @20 complete h0 3 #1\n100 @20 leave write\n"
	       "100 @30 enter read\n100 @30 begin h2 m0 f0 9 #2\n100 @40 complete h2 9 #2\n100 @40 leave read\n"
	       "100 @50 enter close\n100 @60 destroy h2\n100 @60 leave close\n"
	       "100 @70 enter read\n100 @70 begin h3 m0 f0 9 #3\n100 @80 complete h3 0 #3\n100 @80 leave read\n");
	expect_handle(0, "/log", "POSIX", -1);
	expect_handle(1, "/unused", "POSIX", -1);
	expect_handle(2, "pipe:[42]", "POSIX", -1);
	expect_handle(3, "socket:[43]", "POSIX", -1);
	assert_string_equal(handle_at(0)->name, "stdout");
	assert_int_equal(handle_at(0)->pre_mode, 1);
	assert_int_equal(handle_at(0)->pre_status_flags, 2);
	assert_true(handle_at(0)->precreated && handle_at(1)->precreated && handle_at(2)->precreated);
}

/* Thread 101 closes while 102 opens and gets the same number; the close returns last. */
static void close_races_with_open(void **state)
{
	(void)state;
	sb_open(&sb, 101, 10, 20, 0, 3, "/a", O_RDWR);
	sb_open(&sb, 102, 32, 40, 0, 3, "/b", O_RDWR);
	close_descriptor(101, 30, 50, 3);
	read_or_write(102, "write", 45, 60, 0, 3, 1, 1);
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

/* An unlock is recorded with the kind of lock that was held. */
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

/* The kernel's description is of the file's time; the tables were read when the number belonged to another mount. */
static void mounts_that_the_kernel_describes(void **state)
{
	static const char ext[] = "ext4\0\0/dev/sdc", fuse[] = "fuse\0sshfs\0host:/", nfs[] = "nfs4\0\0";
	const struct model_file *files;

	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\nmntns=mnt:[1]\n", NULL);
	sb_text(&sb, IOP_REC_MOUNTS, 100, 2, "mntns=mnt:[1]\n", "30 29 8:1 / /d rw - nfs4 srv:/d rw\n");
	sb_mount(&sb, 100, 10, ext, sizeof(ext), "/d");
	sb_open(&sb, 100, 10, 20, 0, 3, "/d/0", O_RDONLY);
	sb_mount(&sb, 100, 30, fuse, sizeof(fuse), "/d");
	sb_open(&sb, 100, 30, 40, 0, 4, "/d/1", O_RDONLY);
	sb_mount(&sb, 100, 50, nfs, sizeof(nfs), "/d");         /* names its source itself: in the table */
	sb_open(&sb, 100, 50, 60, 0, 5, "/d/2", O_RDONLY);
	sb_mount(&sb, 100, 70, nfs, sizeof(nfs), "/e");         /* not this mount: no source */
	sb_open(&sb, 100, 70, 80, 0, 6, "/e/3", O_RDONLY);
	sb_mount(&sb, 100, 90, ext, 4, "/");                    /* no record */
	sb_open(&sb, 100, 90, 100, 0, 7, "/d/4", O_RDONLY);     /* not below /e: the table */
	replay();
	files = sb.model.files.v;
	assert_string_equal(files[0].mount_source, "/dev/sdc");
	assert_string_equal(files[0].fs_type, "ext4");
	assert_int_equal(scope_of("/d/0"), SCOPE_NODE);
	assert_int_equal(files[0].block_bytes, 4096);
	assert_string_equal(files[1].mount_source, "host:/");
	assert_string_equal(files[1].fs_type, "fuse.sshfs");
	assert_int_equal(scope_of("/d/1"), SCOPE_SHARED);
	assert_string_equal(files[2].mount_source, "srv:/d");
	assert_string_equal(files[3].mount_point, "/e");
	assert_null(files[3].mount_source);
	assert_int_equal(scope_of("/e/3"), SCOPE_SHARED);
	assert_string_equal(files[4].mount_point, "/d");
}

/* A file has the layout of its inodes as far as they share it; one on Lustre without a layout is counted. */
static void stripes(void **state)
{
	const uint32_t lustre = 0x0bd00bd0;
	const struct model_file *files;

	(void)state;
	sb_text(&sb, IOP_REC_PROCESS, 100, 2, "comm=app\ncwd=/w\n", NULL);
	sb_fd_inode(&sb, 100, 10, 3, "/l/plain", 11, lustre);
	sb_fd_inode(&sb, 100, 11, 4, "/l/replaced", 12, lustre);
	sb_fd_inode(&sb, 100, 12, 5, "/l/replaced", 13, lustre);
	sb_fd_inode(&sb, 100, 13, 6, "/l/failed", 14, lustre);
	sb_fd_inode(&sb, 100, 14, 7, "/l/unasked", 15, lustre);
	sb_fd_inode(&sb, 100, 15, 8, "/elsewhere", 16, 0xef53);
	sb_text(&sb, IOP_REC_STRIPES, 0, 16, "dev_major=8\ndev_minor=1\nino=14\nerror=No data available\n", NULL);
	sb_text(&sb, IOP_REC_STRIPES, 0, 17, "dev_major=8\ndev_minor=1\nino=13\nsize=1048576\ncount=4\ndevices=1,2,3,4\n", NULL);
	sb_text(&sb, IOP_REC_STRIPES, 0, 18, "dev_major=8\ndev_minor=1\nino=12\nsize=1048576\ncount=2\ndevices=1,2\n", NULL);
	sb_text(&sb, IOP_REC_STRIPES, 0, 19, "dev_major=8\ndev_minor=1\nino=11\nsize=65536\ncount=1\ndevices=9\npool=fast\n", NULL);
	sb_text(&sb, IOP_REC_STRIPES, 0, 20, "dev_major=9\ndev_minor=1\nino=15\nsize=65536\ncount=1\n", NULL); /* another device */
	replay();
	files = sb.model.files.v;
	assert_int_equal(files[0].stripes.bytes, 65536);
	assert_int_equal(files[0].stripes.count, 1);
	assert_string_equal(files[0].stripes.devices, "9");
	assert_string_equal(files[0].stripes.pool, "fast");
	assert_int_equal(files[1].stripes.bytes, 1048576);
	assert_int_equal(files[1].stripes.count, 0);
	assert_null(files[1].stripes.devices);
	for (int i = 2; i < 5; i++)
		assert_true(!files[i].stripes.bytes && !files[i].stripes.count && !files[i].stripes.devices);
	assert_int_equal(sb.model.totals.facts_unknown, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mount_numbers_are_reused), TEST(mount_of_another_time), TEST(mounts_that_the_kernel_describes),
		TEST(open_write_close), TEST(failed_calls), TEST(open_before_attach), TEST(close_races_with_open), TEST(duplicates),
		TEST(record_locks), TEST(copies_and_names), TEST(stripes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
