/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts names of system calls to this machine's numbers, by the C library's header. Calls newer than Linux 5.0, which have the
 * same number on all machines, are defined here in case the header is older.
 */
#include "table/syscalls.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define SINCE_5_0(name, number) { #name, number }
#define HAS(name) { #name, SYS_##name }

static const struct { const char *name; int number; } numbers[] = {
	/* descriptors and data */
	HAS(openat), HAS(close), HAS(read), HAS(write), HAS(pread64), HAS(pwrite64), HAS(readv), HAS(writev), HAS(preadv),
	HAS(pwritev),
	HAS(preadv2), HAS(pwritev2), HAS(lseek), HAS(dup), HAS(dup3), HAS(fcntl), HAS(ioctl), HAS(flock), HAS(sendfile),
	HAS(copy_file_range), HAS(splice), HAS(tee), HAS(vmsplice), HAS(open_by_handle_at), HAS(name_to_handle_at),
	HAS(memfd_create),
	HAS(pipe2), HAS(socket), HAS(socketpair), HAS(accept), HAS(accept4), HAS(connect), HAS(bind), HAS(listen), HAS(shutdown),
	HAS(setsockopt),
	HAS(sendto), HAS(recvfrom), HAS(sendmsg),
	HAS(recvmsg), HAS(sendmmsg), HAS(recvmmsg), HAS(eventfd2), HAS(timerfd_create), HAS(signalfd4), HAS(epoll_create1),
	HAS(epoll_ctl),
	HAS(epoll_pwait), HAS(inotify_init1), HAS(inotify_add_watch), HAS(ppoll), HAS(pselect6),
	/* synchronisation to disk */
	HAS(fsync), HAS(fdatasync), HAS(sync_file_range), HAS(syncfs), HAS(sync), HAS(msync), HAS(truncate), HAS(ftruncate),
	HAS(fallocate),
	HAS(readahead),
	/* memory */
	HAS(mmap), HAS(munmap), HAS(mremap), HAS(mprotect), HAS(madvise),
	/* asynchronous */
	HAS(io_setup), HAS(io_destroy), HAS(io_submit), HAS(io_cancel), HAS(io_getevents), HAS(io_pgetevents),
	/* paths and metadata */
	HAS(fstat), HAS(statx), HAS(statfs), HAS(fstatfs), HAS(faccessat), HAS(readlinkat), HAS(getdents64), HAS(getcwd),
	HAS(chdir),
	HAS(fchdir), HAS(chroot), HAS(unlinkat), HAS(renameat2), HAS(mkdirat), HAS(mknodat), HAS(linkat), HAS(symlinkat),
	HAS(fchmod),
	HAS(fchmodat), HAS(fchown), HAS(fchownat), HAS(utimensat), HAS(umask), HAS(mount), HAS(umount2), HAS(setxattr),
	HAS(lsetxattr),
	HAS(fsetxattr), HAS(getxattr), HAS(lgetxattr), HAS(fgetxattr), HAS(listxattr), HAS(llistxattr), HAS(flistxattr),
	HAS(removexattr),
	HAS(lremovexattr), HAS(fremovexattr), HAS(quotactl), HAS(fanotify_init), HAS(fanotify_mark),
	/* processes */
	HAS(execve), HAS(execveat), HAS(clone), HAS(exit), HAS(exit_group),
	/* names that do not exist on every machine */
#ifdef SYS_newfstatat
	HAS(newfstatat),
#endif
#ifdef SYS_fadvise64
	HAS(fadvise64),
#endif
#ifdef SYS_renameat
	HAS(renameat),
#endif
#ifdef SYS_open
	HAS(open), HAS(creat), HAS(dup2), HAS(stat), HAS(lstat), HAS(access), HAS(readlink), HAS(getdents), HAS(unlink), HAS(rmdir),
	HAS(rename), HAS(mkdir), HAS(mknod), HAS(link), HAS(symlink), HAS(chmod), HAS(chown), HAS(lchown), HAS(utime), HAS(utimes),
	HAS(futimesat), HAS(pipe), HAS(eventfd), HAS(signalfd), HAS(epoll_create), HAS(epoll_wait), HAS(inotify_init), HAS(poll),
	HAS(select), HAS(fork), HAS(vfork),
#endif
	SINCE_5_0(io_uring_setup, 425), SINCE_5_0(io_uring_enter, 426), SINCE_5_0(io_uring_register, 427),
	SINCE_5_0(open_tree, 428),
	SINCE_5_0(clone3, 435), SINCE_5_0(close_range, 436), SINCE_5_0(openat2, 437), SINCE_5_0(pidfd_getfd, 438),
	SINCE_5_0(faccessat2, 439), SINCE_5_0(quotactl_fd, 443), SINCE_5_0(cachestat, 451), SINCE_5_0(fchmodat2, 452),
	SINCE_5_0(setxattrat, 463), SINCE_5_0(getxattrat, 464), SINCE_5_0(listxattrat, 465), SINCE_5_0(removexattrat, 466),
};

int syscall_number(const char *name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(numbers[i].name, name))
			return numbers[i].number;
	return -1;
}
