/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_posix DIR EXPECTED: every system call of probes/posix.probes, by its number, with what the trace must say of it.
 */
#include "cover.h"

#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <utime.h>

/* Newer than Debian 12's headers. */
enum { NR_cachestat = 451, NR_fchmodat2 = 452, NR_setxattrat = 463, NR_getxattrat, NR_listxattrat, NR_removexattrat };

/* The result must be wanted; the line is the call's name and its events. */
#define SYS(wanted, events, name, ...) CALL(syscall(SYS_##name __VA_OPT__(,) __VA_ARGS__) == (wanted), #name " " events)
#define SYS_FAILS(error, events, name, ...) \
	CALL(syscall(SYS_##name __VA_OPT__(,) __VA_ARGS__) == -1 && errno == (error), #name " !%d " events, error)
/* One that makes a descriptor. */
#define SYS_FD(fd, events, name, ...) CALL((fd = syscall(SYS_##name __VA_OPT__(,) __VA_ARGS__)) >= 0, #name " " events)
/* One that this kernel may not have. */
#define MAY(wanted, name, ...) \
	do { \
		long result_ = syscall(NR_##name, __VA_ARGS__); \
		must(result_ == (wanted) || (result_ == -1 && errno == ENOSYS), #name); \
		cover_expect(result_ < 0 ? #name " !%d" : #name, ENOSYS); \
	} while (0)

static const char *const f = "f", *const g = "g", *const sub = "sub";
static char buf[4096], large[100000];

static void descriptors(void)
{
	struct open_how how = { .flags = O_RDWR };
	struct { struct file_handle h; char data[128]; } place = { .h.handle_bytes = 128 };
	int a, b, c, mount_id;

	SYS_FD(a, "create", open, f, O_RDWR | O_CREAT | O_TRUNC, 0644);
	SYS_FD(b, "create", openat, AT_FDCWD, f, O_RDONLY, 0);
	SYS(0, "destroy", close, b);
	SYS_FD(b, "create", openat2, AT_FDCWD, f, &how, sizeof(how));
	SYS_FD(c, "create", creat, g, 0644);
	SYS(0, "destroy destroy", close_range, b, c, 0);
	SYS(0, "", name_to_handle_at, AT_FDCWD, f, &place.h, &mount_id, 0);
	SYS_FD(b, "create", open, ".", O_RDONLY | O_DIRECTORY, 0);
	SYS_FD(c, "create", open_by_handle_at, b, &place.h, O_RDONLY);
	SYS(0, "destroy", close, c);
	SYS(0, "destroy", close, b);
	SYS_FD(b, "dup", dup, a);
	SYS(b, "destroy dup", dup2, a, b);
	SYS(b, "destroy dup", dup3, a, b, O_CLOEXEC);
	SYS_FD(c, "dup", fcntl, a, F_DUPFD, 0);
	SYS(0, "flags", fcntl, a, F_SETFL, O_APPEND);
	SYS(0, "flags", fcntl, a, F_SETFD, FD_CLOEXEC);
	SYS(FD_CLOEXEC, "", fcntl, a, F_GETFD);
	SYS(0, "lock", flock, a, LOCK_EX);
	SYS(0, "destroy", close, c);
	SYS_FD(c, "create", open, f, O_RDONLY, 0);
	SYS_FAILS(EWOULDBLOCK, "trylock", flock, c, LOCK_EX | LOCK_NB);
	SYS(0, "unlock", flock, a, LOCK_UN);
	SYS(0, "destroy", close, c);
	SYS(0, "destroy", close, b);
	SYS(0, "destroy", close, a);
	SYS_FAILS(EBADF, "", close, a);
	SYS_FAILS(ENOENT, "", open, "no/such", O_RDONLY, 0);
	SYS_FAILS(ENOENT, "", openat, AT_FDCWD, "no/such", O_RDONLY, 0);
	SYS_FAILS(EEXIST, "", open, f, O_CREAT | O_EXCL | O_WRONLY, 0644);
	SYS_FAILS(EISDIR, "", creat, ".", 0644);
	SYS_FAILS(EBADF, "", dup, a);
	SYS_FAILS(EBADF, "", dup2, a, 50);
}

static void data(void)
{
	struct iovec v[2] = { { buf, 10 }, { buf + 100, 20 } };
	int a;

	SYS_FD(a, "create", open, f, O_RDWR | O_TRUNC, 0);
	SYS(100, "write:100/100", write, a, buf, 100);
	SYS(50, "write:50/50@4096", pwrite64, a, buf, 50, 4096);
	SYS(30, "write:30/30", writev, a, v, 2);
	SYS(30, "write:30/30@200", pwritev, a, v, 2, 200, 0);
	SYS(30, "write:30/30@300", pwritev2, a, v, 2, 300, 0, 0);
	SYS(30, "write:30/30", pwritev2, a, v, 2, -1L, -1L, 0);
	SYS(4090, "seek:4090", lseek, a, 4090, SEEK_SET);
	SYS(56, "read:4000/56", read, a, buf, 4000);       /* up to the end: short */
	SYS(0, "read:4000/0", read, a, buf, 4000);
	SYS(4146, "seek:4146", lseek, a, 0, SEEK_CUR);
	SYS(4136, "seek:4136", lseek, a, -10L, SEEK_END);
	SYS(10, "read:30/10", readv, a, v, 2);
	SYS(10, "read:10/10@20", pread64, a, buf, 10, 20);
	SYS(6, "read:10/6@4140", pread64, a, buf, 10, 4140);
	SYS(30, "read:30/30@40", preadv, a, v, 2, 40, 0);
	SYS(30, "read:30/30@50", preadv2, a, v, 2, 50, 0, 0);
	SYS_FAILS(EINVAL, "", lseek, a, -1L, SEEK_SET);
	SYS_FAILS(EFAULT, "write:10/?", write, a, 1L, 10);
	SYS_FAILS(EINVAL, "read:10/?", pread64, a, buf, 10, -5L);
	SYS(0, "destroy", close, a);
	SYS_FD(a, "create", open, f, O_RDONLY, 0);
	SYS_FAILS(EBADF, "write:10/?", write, a, buf, 10);
	SYS_FAILS(EBADF, "write:30/?", writev, a, v, 2);
	SYS_FAILS(EBADF, "write:10/?@0", pwrite64, a, buf, 10, 0);
	SYS(0, "destroy", close, a);
	SYS_FAILS(EBADF, "", read, a, buf, 10);
}

static void copies(void)
{
	loff_t from = 0, to = 0;
	int a, b, ends[2], more[2];

	SYS_FD(a, "create", open, f, O_RDONLY, 0);
	SYS_FD(b, "create", open, g, O_RDWR | O_TRUNC, 0);
	must(pipe(ends) == 0, "pipe");
	SYS(60, "read:60/60 write:60/60", sendfile, b, a, NULL, 60);
	SYS(70, "read:70/70 write:70/70", copy_file_range, a, &from, b, &to, 70, 0);
	SYS(80, "read:80/80 write:80/80", splice, a, &from, ends[1], NULL, 80, 0);
	must(pipe(more) == 0, "pipe");
	SYS(40, "read:40/40 write:40/40", tee, ends[0], more[1], 40L, 0);
	must(close(more[0]) == 0 && close(more[1]) == 0, "close");
	cover_expect("close destroy");
	cover_expect("close destroy");
	must(pipe2(more, O_NONBLOCK) == 0, "pipe2");
	SYS(65536, "write:100000/65536", write, more[1], large, 100000);        /* what a pipe holds: short */
	SYS_FAILS(EAGAIN, "write:10/?", write, more[1], large, 10);
	SYS(65536, "read:100000/65536", read, more[0], large, 100000);
	SYS_FAILS(EAGAIN, "read:10/?", read, more[0], large, 10);
	must(close(more[0]) == 0 && close(more[1]) == 0, "close");
	cover_expect("close destroy");
	cover_expect("close destroy");
	SYS(46, "read:1000/46 write:1000/46", copy_file_range, a, &(loff_t){ 4100 }, b, &to, 1000, 0);
	SYS_FAILS(EBADF, "read:10/? write:10/?", sendfile, a, b, NULL, 10);
	SYS(0, "destroy", close, ends[0]);
	SYS(0, "destroy", close, ends[1]);
	SYS(0, "destroy", close, a);
	SYS(0, "flush", fsync, b);
	SYS(0, "flush", fdatasync, b);
	SYS(0, "flush", sync_file_range, b, 0L, 0L, SYNC_FILE_RANGE_WRITE);
	SYS(0, "flush", syncfs, b);
	SYS(0, "", sync);
	SYS(0, "destroy", close, b);
	SYS_FAILS(EBADF, "", fsync, b);
}

static void memory(void)
{
	void *p;
	int a;

	SYS_FD(a, "create", open, f, O_RDWR, 0);
	CALL((p = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_SHARED, a, 0L)) != MAP_FAILED, "mmap *");
	SYS(0, "*", msync, p, 4096L, MS_SYNC);
	must(munmap(p, 4096) == 0, "munmap");
	SYS(0, "destroy", close, a);
	SYS_FAILS(EBADF, "*", mmap, NULL, 4096L, PROT_READ, MAP_SHARED, a, 0L);
}

static void space(void)
{
	struct { uint64_t off, len; } range = { 0, 4096 };
	uint64_t cached[5];
	int a;

	SYS(0, "", truncate, f, 3000L);
	SYS_FD(a, "create", open, f, O_RDWR, 0);
	SYS(0, "", ftruncate, a, 2000L);
	SYS(0, "", fallocate, a, 0, 0L, 8192L);
	SYS(0, "", fadvise64, a, 0L, 0L, POSIX_FADV_SEQUENTIAL);
	SYS(0, "", readahead, a, 0L, 4096L);
	MAY(0, cachestat, a, &range, cached, 0);
	SYS_FAILS(EINVAL, "", ftruncate, a, -1L);
	SYS(0, "destroy", close, a);
	SYS_FAILS(ENOENT, "", truncate, "no/such", 0L);
}

static void names(void)
{
	int d;

	SYS(0, "", mkdir, sub, 0755);
	SYS(0, "", mkdirat, AT_FDCWD, "sub/sub", 0755);
	SYS(0, "", mknod, "node", S_IFREG | 0644, 0);
	SYS(0, "", mknodat, AT_FDCWD, "nodeat", S_IFREG | 0644, 0);
	SYS(0, "", link, f, "hard");
	SYS(0, "", linkat, AT_FDCWD, f, AT_FDCWD, "hardat", 0);
	SYS(0, "", symlink, f, "soft");
	SYS(0, "", symlinkat, f, AT_FDCWD, "softat");
	SYS(0, "delete", rename, "node", "node2");
	SYS(0, "delete", renameat, AT_FDCWD, "node2", AT_FDCWD, "node3");
	SYS(0, "delete", renameat2, AT_FDCWD, "node3", AT_FDCWD, "node4", 0);
	SYS(0, "delete", unlink, "node4");
	SYS(0, "delete", unlinkat, AT_FDCWD, "nodeat", 0);
	SYS(0, "delete", unlinkat, AT_FDCWD, "sub/sub", AT_REMOVEDIR);
	SYS_FD(d, "create", open, ".", O_RDONLY | O_DIRECTORY, 0);
	SYS(0, "", chdir, sub);
	SYS(0, "", fchdir, d);
	SYS(0, "destroy", close, d);
	SYS(0, "delete", rmdir, sub);
	SYS_FAILS(ENOENT, "", unlink, "no/such");
	SYS_FAILS(ENOENT, "", unlinkat, AT_FDCWD, "no/such", 0);
	SYS_FAILS(ENOENT, "", rename, "no/such", "other");
	SYS_FAILS(ENOENT, "", renameat2, AT_FDCWD, "no/such", AT_FDCWD, "other", 0);
	SYS_FAILS(ENOENT, "", rmdir, "no/such");
	SYS_FAILS(EEXIST, "", mkdir, ".", 0755);
	SYS_FAILS(ENOENT, "", chdir, "no/such");
}

static void looks(void)
{
	int a, d;

	SYS_FD(a, "create", open, f, O_RDONLY, 0);
	SYS_FD(d, "create", open, ".", O_RDONLY | O_DIRECTORY, 0);
	SYS(0, "", stat, f, buf);
	SYS(0, "", lstat, "soft", buf);
	SYS(0, "", fstat, a, buf);
	SYS(0, "", newfstatat, AT_FDCWD, f, buf, 0);
	SYS(0, "", statx, AT_FDCWD, f, 0, STATX_BASIC_STATS, buf);
	SYS(0, "", access, f, R_OK);
	SYS(0, "", faccessat, AT_FDCWD, f, R_OK);
	SYS(0, "", faccessat2, AT_FDCWD, f, R_OK, AT_EACCESS);
	SYS(1, "", readlink, "soft", buf, sizeof(buf));
	SYS(1, "", readlinkat, AT_FDCWD, "softat", buf, sizeof(buf));
	SYS(0, "", statfs, f, buf);
	SYS(0, "", fstatfs, a, buf);
	CALL(syscall(SYS_getdents, d, buf, sizeof(buf)) > 0, "getdents");
	SYS(0, "", getdents64, d, buf, sizeof(buf));
	SYS(0, "destroy", close, d);
	SYS(0, "destroy", close, a);
	SYS_FAILS(ENOENT, "", stat, "no/such", buf);
	SYS_FAILS(ENOENT, "", newfstatat, AT_FDCWD, "no/such", buf, 0);
	SYS_FAILS(ENOENT, "", access, "no/such", R_OK);
}

static void owners(void)
{
	struct utimbuf times = { 1, 2 };
	struct timeval tv[2] = { { 1, 0 }, { 2, 0 } };
	int a, uid = getuid(), gid = getgid();

	SYS_FD(a, "create", open, f, O_RDWR, 0);
	SYS(0, "", chmod, f, 0600);
	SYS(0, "", fchmod, a, 0600);
	SYS(0, "", fchmodat, AT_FDCWD, f, 0600);
	MAY(0, fchmodat2, AT_FDCWD, f, 0600, 0);
	SYS(0, "", chown, f, uid, gid);
	SYS(0, "", lchown, "soft", uid, gid);
	SYS(0, "", fchown, a, uid, gid);
	SYS(0, "", fchownat, AT_FDCWD, f, uid, gid, 0);
	SYS(0, "", utime, f, &times);
	SYS(0, "", utimes, f, tv);
	SYS(0, "", futimesat, AT_FDCWD, f, tv);
	SYS(0, "", utimensat, AT_FDCWD, f, NULL, 0);
	SYS(0, "destroy", close, a);
	SYS_FAILS(ENOENT, "", chmod, "no/such", 0600);
}

static void extended(void)
{
	struct { uint64_t value; uint32_t size, flags; } args = { (uintptr_t)"v", 1, 0 };
	const char *const name = "trusted.ioprobe";
	int a;

	SYS_FD(a, "create", open, f, O_RDWR, 0);
	SYS(0, "", setxattr, f, name, "value", 5L, 0);
	SYS(5, "", getxattr, f, name, buf, sizeof(buf));
	CALL(syscall(SYS_listxattr, f, buf, sizeof(buf)) > 0, "listxattr");
	SYS(0, "", removexattr, f, name);
	SYS(0, "", lsetxattr, f, name, "value", 5L, 0);
	SYS(5, "", lgetxattr, f, name, buf, sizeof(buf));
	CALL(syscall(SYS_llistxattr, f, buf, sizeof(buf)) > 0, "llistxattr");
	SYS(0, "", lremovexattr, f, name);
	SYS(0, "", fsetxattr, a, name, "value", 5L, 0);
	SYS(5, "", fgetxattr, a, name, buf, sizeof(buf));
	CALL(syscall(SYS_flistxattr, a, buf, sizeof(buf)) > 0, "flistxattr");
	SYS(0, "", fremovexattr, a, name);
	SYS_FAILS(ENODATA, "", getxattr, f, name, buf, sizeof(buf));
	MAY(0, setxattrat, AT_FDCWD, f, 0, name, &args, sizeof(args));
	args.value = (uintptr_t)buf;
	MAY(1, getxattrat, AT_FDCWD, f, 0, name, &args, sizeof(args));
	MAY(0, listxattrat, AT_FDCWD, "softat", AT_SYMLINK_NOFOLLOW, buf, sizeof(buf));
	MAY(0, removexattrat, AT_FDCWD, f, 0, name);
	SYS(0, "destroy", close, a);
}

/* libaio: the end of an operation is recorded where its event is taken. */
static void kernel_aio(void)
{
	struct iocb w = { .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)buf, .aio_nbytes = 100 },
		    bad = { .aio_fildes = -1 };
	struct iocb r = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)buf, .aio_nbytes = 4000, .aio_offset = 60 };
	struct iocb *list[] = { &w, &r }, *refused[] = { &bad };
	aio_context_t context = 0;
	struct io_event events[2];
	int a;

	SYS_FD(a, "create", open, f, O_RDWR | O_TRUNC, 0);
	w.aio_fildes = r.aio_fildes = a;
	SYS(0, "", io_setup, 4, &context);
	SYS(1, "issue-write:100@0", io_submit, context, 1L, list);
	SYS(1, "done:100", io_getevents, context, 1L, 2L, events, NULL);
	SYS(2, "issue-write:100@0 issue-read:4000@60", io_submit, context, 2L, list);
	SYS(2, "done:100 done:40", io_pgetevents, context, 2L, 2L, events, NULL, NULL);
	SYS_FAILS(EBADF, "", io_submit, context, 1L, refused);
	SYS_FAILS(EINVAL, "", io_cancel, context, &w, events);
	SYS(0, "", io_destroy, context);
	SYS_FAILS(EINVAL, "", io_destroy, context);
	SYS_FAILS(EINVAL, "", io_setup, 0, &context);
	SYS(0, "destroy", close, a);
}

/* A ring of one operation after the other, on a pipe: each ends inside the call that brings it. */
struct uring {
	struct io_uring_params params;
	int fd;
	char *rings;
	struct io_uring_sqe *sqes;
};

static void uring_map(struct uring *u)
{
	struct io_uring_params *p = &u->params;
	const size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
	const size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

	must(p->features & IORING_FEAT_SINGLE_MMAP, "rings in one mapping");
	u->rings = mmap(NULL, sq > cq ? sq : cq, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
	cover_expect("mmap *");
	u->sqes = mmap(NULL, p->sq_entries * sizeof(*u->sqes), PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQES);
	cover_expect("mmap *");
	must(u->rings != MAP_FAILED && u->sqes != MAP_FAILED, "mmap of the rings");
}

static void uring_queue(struct uring *u, int opcode, int fd, size_t bytes)
{
	unsigned *tail = (unsigned *)(u->rings + u->params.sq_off.tail), index = *tail % u->params.sq_entries;

	u->sqes[index] = (struct io_uring_sqe){ .opcode = opcode, .fd = fd, .addr = (uintptr_t)buf, .len = bytes, .off = -1 };
	((unsigned *)(u->rings + u->params.sq_off.array))[index] = index;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

static int uring_result(struct uring *u)
{
	unsigned *head = (unsigned *)(u->rings + u->params.cq_off.head);
	int result = ((struct io_uring_cqe *)(u->rings + u->params.cq_off.cqes))[*head % u->params.cq_entries].res;

	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static void kernel_rings(void)
{
	struct uring u = { 0 };
	int ends[2];

	u.fd = syscall(SYS_io_uring_setup, 2, &u.params);
	if (u.fd < 0 && (errno == ENOSYS || errno == EPERM)) {  /* not in this kernel, or forbidden */
		cover_expect("io_uring_setup !%d", errno);
		return;
	}
	CALL(u.fd >= 0 && pipe(ends) == 0, "io_uring_setup");
	uring_map(&u);
	SYS(0, "", io_uring_register, u.fd, IORING_REGISTER_BUFFERS, &(struct iovec){ buf, sizeof(buf) }, 1);
	uring_queue(&u, IORING_OP_WRITE, ends[1], 100);
	SYS(1, "issue-write:100/100", io_uring_enter, u.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	must(uring_result(&u) == 100, "write by io_uring");
	uring_queue(&u, IORING_OP_READ, ends[0], 1000);
	SYS(1, "issue-read:1000/100", io_uring_enter, u.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	must(uring_result(&u) == 100, "read by io_uring");
	SYS_FAILS(EINVAL, "", io_uring_setup, 0, &u.params);
	SYS_FAILS(EFAULT, "", io_uring_register, u.fd, IORING_REGISTER_FILES, NULL, 1);
	SYS_FAILS(EBADF, "", io_uring_enter, -1, 0, 0, 0, NULL, 0);
	SYS(0, "destroy", close, u.fd);
	SYS(0, "destroy", close, ends[0]);
	SYS(0, "destroy", close, ends[1]);
}

void golden(const char *dir)
{
	must(chdir(dir) == 0, dir);
	cover_expect("chdir");
	descriptors();
	data();
	copies();
	memory();
	space();
	names();
	looks();
	owners();
	extended();
	kernel_aio();
	kernel_rings();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden(argv[1]);
	cover_write(argv[2]);
	return 0;
}
