/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * uring DIR [sqpoll]: DIR/data by io_uring, without a library. Opened and closed by it; 10 writes of 1000 bytes; READV of 2 x 300;
 * a read of 4096 at 9600 that gets 400; a read that the kernel refuses to take (EINVAL); a write on a descriptor for reading only
 * (EBADF) and on none (EBADF); EFBIG; FSYNC; through a registered file 3 reads of 100 into a registered buffer; a read of an empty
 * pipe that is cancelled; a linked write whose predecessor fails (ECANCELED); 5 writes of 100 in workers of the kernel's; 5 of 50
 * that another thread submits; 3 NOPs; a read of the pipe without a wait. In all 20 writes that end well: 10000 + 500 + 250
 * bytes; 5 reads: 600 + 400 + 300.
 */
#include "golden.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { MANY = 10, SIZE = 1000, ENTRIES = 32 };

static int ring, queued;
static bool polled;
static unsigned *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static char buf[MANY][4096];

static void *map(size_t bytes, long offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);

	must(p != MAP_FAILED, "mmap of the ring");
	return p;
}

static void set_up(void)
{
	struct io_uring_params p = { .flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 100 };
	char *sq, *cq;

	ring = syscall(SYS_io_uring_setup, ENTRIES, &p);
	must(ring >= 0, "io_uring_setup");
	sq = map(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(*cqes), IORING_OFF_CQ_RING);
	sqes = map(p.sq_entries * sizeof(*sqes), IORING_OFF_SQES);
	sq_tail = (unsigned *)(sq + p.sq_off.tail);
	sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	sq_array = (unsigned *)(sq + p.sq_off.array);
	sq_flags = (unsigned *)(sq + p.sq_off.flags);
	cq_head = (unsigned *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(cq + p.cq_off.tail);
	cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static struct io_uring_sqe *queue(int opcode, int fd, const void *data, size_t bytes, long offset)
{
	unsigned index = (*sq_tail + queued++) & *sq_mask;

	sqes[index] = (struct io_uring_sqe){ .opcode = opcode, .fd = fd, .addr = (unsigned long)data, .len = bytes, .off = offset };
	sq_array[index] = index;
	return &sqes[index];
}

static void submit(void)
{
	int n = queued;

	__atomic_store_n(sq_tail, *sq_tail + n, __ATOMIC_SEQ_CST);
	queued = 0;
	if (!polled)
		must(syscall(SYS_io_uring_enter, ring, n, 0, 0, NULL, 0) == n, "io_uring_enter");
	else if (__atomic_load_n(sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		must(syscall(SYS_io_uring_enter, ring, n, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0) >= 0, "io_uring_enter to wake");
}

/* The result of the next operation that has ended. */
static int reap(void)
{
	int result;

	while (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == *cq_head)
		syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	result = cqes[*cq_head & *cq_mask].res;
	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	return result;
}

static int finish(void)
{
	submit();
	return reap();
}

static void all(int n, int expected)
{
	for (int i = 0; i < n; i++)
		must(reap() == expected, "result of an operation");
}

static void writes(int fd, int n, size_t bytes, int flags)
{
	for (int i = 0; i < n; i++)
		queue(IORING_OP_WRITE, fd, buf[i], bytes, i * bytes)->flags = flags;
	submit();
}

static int open_file(const char *path)
{
	struct io_uring_sqe *sqe = queue(IORING_OP_OPENAT, AT_FDCWD, path, 0644, 0);
	int fd;

	sqe->open_flags = O_RDWR | O_CREAT | O_TRUNC;
	fd = finish();
	must(fd >= 0, "open by io_uring");
	return fd;
}

static void failures(int fd, int read_only)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };

	queue(IORING_OP_READ, fd, buf, 100, 0)->personality = 99;
	must(finish() == -EINVAL, "read without a reader");
	queue(IORING_OP_WRITE, read_only, buf, 100, 0);
	must(finish() == -EBADF, "write for reading only");
	queue(IORING_OP_WRITE, 999, buf, 100, 0);
	must(finish() == -EBADF, "write to no descriptor");
	signal(SIGXFSZ, SIG_IGN);
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
	queue(IORING_OP_WRITE, fd, buf, 100, 1 << 20);
	must(finish() == -EFBIG, "write beyond the limit");
	queue(IORING_OP_WRITE, read_only, buf, 100, 0)->flags = IOSQE_IO_LINK;
	queue(IORING_OP_WRITE, fd, buf, 100, 0);
	submit();
	must(reap() == -EBADF, "first of a chain");
	must(reap() == -ECANCELED, "second of a chain");
}

static void registered(int fd)
{
	struct iovec buffer = { buf, sizeof(buf) };

	must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1) == 0, "register the file");
	must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) == 0, "register the buffer");
	for (int i = 0; i < 3; i++)
		queue(IORING_OP_READ_FIXED, 0, buf[i], 100, 100 * i)->flags = IOSQE_FIXED_FILE;
	submit();
	all(3, 100);
}

static void cancelled(int pipe_end)
{
	queue(IORING_OP_READ, pipe_end, buf, 100, 0)->user_data = 77;
	submit();
	queue(IORING_OP_ASYNC_CANCEL, -1, (void *)77, 0, 0);
	submit();
	must(reap() + reap() == -ECANCELED, "cancelled");
}

static void *other_thread(void *arg)
{
	writes(*(int *)arg, 5, 50, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct iovec two[] = { { buf[0], 300 }, { buf[1], 300 } };
	int fd, read_only, ends[2];
	pthread_t thread;

	if (argc < 2)
		return 2;
	polled = argc > 2;
	set_up();
	fd = open_file(IN_DIR(argv[1], "data"));
	read_only = open(IN_DIR(argv[1], "data"), O_RDONLY);
	must(read_only >= 0 && pipe(ends) == 0, "open");
	writes(fd, MANY, SIZE, 0);
	all(MANY, SIZE);
	queue(IORING_OP_READV, fd, two, 2, 0);
	must(finish() == 600, "readv");
	queue(IORING_OP_READ, fd, buf, 4096, 9600);
	must(finish() == 400, "read at the end");
	failures(fd, read_only);
	queue(IORING_OP_FSYNC, fd, NULL, 0, 0);
	must(finish() == 0, "fsync");
	registered(fd);
	cancelled(ends[0]);
	writes(fd, 5, 100, IOSQE_ASYNC);
	all(5, 100);
	must(pthread_create(&thread, NULL, other_thread, &fd) == 0 && pthread_join(thread, NULL) == 0, "thread");
	all(5, 50);
	for (int i = 0; i < 3; i++)
		queue(IORING_OP_NOP, -1, NULL, 0, 0);
	submit();
	all(3, 0);
	queue(IORING_OP_CLOSE, fd, NULL, 0, 0);
	must(finish() == 0, "close by io_uring");
	queue(IORING_OP_READ, ends[0], buf, 100, 0);
	submit();
	return 0;
}
