/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * locks DIR: on DIR/file, by fcntl: 4 locks (F_SETLK exclusive and shared, F_SETLKW, F_OFD_SETLK) and 4 unlocks, the last of which
 * frees two
 * locks of different kinds, one F_GETLK, one lockf each to lock and unlock; a child is refused one F_SETLK, one flock with LOCK_NB
 * and one F_OFD_SETLK. By flock: 2 locks (exclusive, shared), one unlock through a duplicated descriptor, one unlock of nothing.
 * Then F_SETFL and F_SETFD once each, one creat, one openat2.
 */
#include "golden.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int fd;

static int lock(int cmd, short type, off_t start, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };

	return fcntl(fd, cmd, &lock);
}

static void refused_child(const char *path)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork");
	if (pid == 0) {
		fd = open(path, O_RDWR);
		must(fd >= 0, "open in the child");
		must(lock(F_SETLK, F_WRLCK, 0, 10) < 0 && (errno == EAGAIN || errno == EACCES), "F_SETLK is refused");
		must(lock(F_OFD_SETLK, F_RDLCK, 100, 1) < 0 && (errno == EAGAIN || errno == EACCES), "F_OFD_SETLK is refused");
		must(flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK, "flock is refused");
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

static void record_locks(void)
{
	struct flock other = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0 };

	must(!lock(F_SETLK, F_WRLCK, 0, 50), "F_SETLK");
	must(!lock(F_SETLKW, F_RDLCK, 60, 20), "F_SETLKW");
	must(!lock(F_SETLK, F_RDLCK, 50, -10), "F_SETLK of bytes before");   /* 40 to 49: shared now */
	must(!lock(F_OFD_SETLK, F_WRLCK, 100, 0), "F_OFD_SETLK");
	must(!fcntl(fd, F_GETLK, &other), "F_GETLK");
}

static void record_unlocks(void)
{
	must(!lock(F_SETLK, F_UNLCK, 0, 10), "unlock");
	must(!lock(F_SETLK, F_UNLCK, 65, 5), "unlock");
	must(!lock(F_OFD_SETLK, F_UNLCK, 0, 0), "unlock");
	must(!lock(F_SETLK, F_UNLCK, 0, 0), "unlock of both kinds");
	must(lseek(fd, 0, SEEK_SET) == 0 && !lockf(fd, F_LOCK, 7) && !lockf(fd, F_ULOCK, 7), "lockf");
}

int main(int argc, char **argv)
{
	const char *path = IN_DIR(argc == 2 ? argv[1] : ".", "file");
	struct open_how how = { .flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND, .mode = 0644 };
	int copy;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0, "open");
	record_locks();
	must(!flock(fd, LOCK_EX), "flock");
	refused_child(path);
	record_unlocks();
	must(!flock(fd, LOCK_SH), "flock");
	copy = dup(fd);
	must(copy >= 0 && !flock(copy, LOCK_UN) && !flock(fd, LOCK_UN), "unlock");
	must(!fcntl(fd, F_SETFL, O_APPEND) && !fcntl(fd, F_SETFD, FD_CLOEXEC), "F_SETFL");
	must(close(creat(IN_DIR(argv[1], "made"), 0644)) == 0, "creat");
	must(close(syscall(SYS_openat2, AT_FDCWD, IN_DIR(argv[1], "new"), &how, sizeof(how))) == 0, "openat2");
	return 0;
}
