/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cancel_points DIR: every system call of the tables that is a cancellation point of the C library, once each after a call of
 * nest_call that was left by longjmp: the C library makes it at another depth of the stack than others. 22 calls of nest_call, all
 * abandoned; no system call is inside of one.
 */
#include "golden.h"
#include "nest.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/uio.h>

static jmp_buf back;
static int fd, to, ends[2];
static char block[4096];
static struct iovec iov = { block, 100 };
static void *mapped;
static const char *path, *to_path;

static int jump(void *arg)
{
	(void)arg;
	longjmp(back, 1);
}

/* `call` after a jump over a call of nest_call, at the depth that this one had. */
#define AFTER_JUMP(call) \
	do { \
		if (!setjmp(back)) \
			nest_call(jump, NULL); \
		must((call) >= 0, #call); \
	} while (0)

static void files(void)
{
	AFTER_JUMP(fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
	AFTER_JUMP(write(fd, block, sizeof(block)));
	AFTER_JUMP(read(fd, block, sizeof(block)));
	AFTER_JUMP(pwrite(fd, block, 100, 0));
	AFTER_JUMP(pread(fd, block, 100, 0));
	AFTER_JUMP(writev(fd, &iov, 1));
	AFTER_JUMP(readv(fd, &iov, 1));
	AFTER_JUMP(pwritev(fd, &iov, 1, 0));
	AFTER_JUMP(preadv(fd, &iov, 1, 0));
	AFTER_JUMP(fdatasync(fd));
	AFTER_JUMP(fsync(fd));
}

static void ranges(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	off_t from = 0, at = 0;

	mapped = mmap(NULL, sizeof(block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(mapped != MAP_FAILED && !pipe(ends), "mmap or pipe");
	AFTER_JUMP(msync(mapped, sizeof(block), MS_SYNC));
	AFTER_JUMP(fallocate(fd, 0, 0, sizeof(block)));
	AFTER_JUMP(sync_file_range(fd, 0, sizeof(block), SYNC_FILE_RANGE_WRITE));
	AFTER_JUMP(fcntl(fd, F_SETLKW, &lock));
	AFTER_JUMP(to = creat(to_path, 0600));
	AFTER_JUMP(copy_file_range(fd, &from, to, &at, 100, 0));
	AFTER_JUMP(vmsplice(ends[1], &iov, 1, 0));
	AFTER_JUMP(splice(ends[0], NULL, to, NULL, 100, 0));
	AFTER_JUMP(close(to));
	AFTER_JUMP(to = openat(AT_FDCWD, path, O_RDONLY));
	AFTER_JUMP(close(fd));
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: cancel_points DIR");
	to_path = strdup(IN_DIR(argv[1], "to"));
	path = strdup(IN_DIR(argv[1], "file"));
	must(path && to_path, "strdup");
	files();
	ranges();
	return 0;
}
