/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libaio DIR: DIR/data by io_submit: 10 writes of 1000 bytes in one call; PWRITEV and PREADV of 2 x 300; a read of 4096 at 9600
 * that gets 400; 2 submitted of which 1 (100 bytes) is accepted and 1 has a descriptor for reading only; EFBIG; FSYNC; io_cancel of
 * what has ended (EINVAL); 5 writes of 70 bytes that another thread reaps; 5 of 50 bytes that are reaped without a system call; 1
 * of 10 bytes whose completion is not reaped. In all 22 writes that end well: 10000 + 600 + 100 + 350 + 250 bytes; 2 reads: 1000
 * bytes; 11 io_submit (1 fails), 8 io_getevents.
 */
#include "golden.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { MANY = 10, SIZE = 1000 };

/* The kernel's ring of events, at the context's address. */
struct ring { unsigned id, nr, head, tail, magic, compat, incompat, header_length; struct io_event events[]; };

static aio_context_t context;
static char buf[MANY][4096];
static struct iocb iocbs[MANY];

static struct iocb *operation(int i, int opcode, int fd, const void *data, size_t bytes, long offset)
{
	iocbs[i] = (struct iocb){ .aio_lio_opcode = opcode, .aio_fildes = fd, .aio_buf = (unsigned long)data, .aio_nbytes = bytes,
				  .aio_offset = offset, .aio_data = i };
	return &iocbs[i];
}

static long submit(struct iocb **list, long n)
{
	return syscall(SYS_io_submit, context, n, list);
}

static void reap(long n, long expected)
{
	struct io_event events[MANY];

	must(syscall(SYS_io_getevents, context, n, MANY, events, NULL) == n, "io_getevents");
	for (long i = 0; i < n; i++)
		must(events[i].res == expected, "result of an operation");
}

static void one(int opcode, int fd, const void *data, size_t bytes, long offset, long expected)
{
	struct iocb *list[] = { operation(0, opcode, fd, data, bytes, offset) };

	must(submit(list, 1) == 1, "io_submit");
	reap(1, expected);
}

static void writes(int fd, int n, size_t bytes)
{
	struct iocb *list[MANY];

	for (int i = 0; i < n; i++)
		list[i] = operation(i, IOCB_CMD_PWRITE, fd, buf[i], bytes, i * bytes);
	must(submit(list, n) == n, "io_submit");
}

static void partly_accepted(int fd, int read_only)
{
	struct iocb *list[] = { operation(0, IOCB_CMD_PWRITE, fd, buf, 100, 0),
				operation(1, IOCB_CMD_PWRITE, read_only, buf, 100, 0) };

	must(submit(list, 2) == 1, "io_submit of two");
	reap(1, 100);
	must(submit(list + 1, 1) < 0 && errno == EBADF, "io_submit for a descriptor for reading");
}

static void too_large(int fd)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
	one(IOCB_CMD_PWRITE, fd, buf, 100, 1 << 20, -EFBIG);
}

static void *other_thread(void *arg)
{
	(void)arg;
	reap(5, 70);
	return NULL;
}

/* What libaio's user space may do. */
static void reap_without_system_call(int n)
{
	struct ring *ring = (struct ring *)context;

	must(ring->magic == 0xa10a10a1, "the ring's magic number");
	for (int i = 0; i < n; i++) {
		while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head)
			;
		must(ring->events[ring->head].res == 50, "result in the ring");
		__atomic_store_n(&ring->head, (ring->head + 1) % ring->nr, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	struct iovec two[] = { { buf[0], 300 }, { buf[1], 300 } };
	struct io_event event;
	pthread_t thread;
	int fd, read_only;

	if (argc != 2)
		return 2;
	fd = open(IN_DIR(argv[1], "data"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	read_only = open(IN_DIR(argv[1], "data"), O_RDONLY);
	must(fd >= 0 && read_only >= 0, "open");
	must(syscall(SYS_io_setup, 64, &context) == 0, "io_setup");
	writes(fd, MANY, SIZE);
	reap(MANY, SIZE);
	one(IOCB_CMD_PWRITEV, fd, two, 2, 0, 600);
	one(IOCB_CMD_PREADV, fd, two, 2, 0, 600);
	one(IOCB_CMD_PREAD, fd, buf, 4096, 9600, 400);
	partly_accepted(fd, read_only);
	too_large(fd);
	one(IOCB_CMD_FSYNC, fd, NULL, 0, 0, 0);
	must(syscall(SYS_io_cancel, context, &iocbs[0], &event) < 0 && errno == EINVAL, "io_cancel");
	writes(fd, 5, 70);
	must(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
	writes(fd, 5, 50);
	reap_without_system_call(5);
	writes(fd, 1, 10);
	must(syscall(SYS_io_destroy, context) == 0, "io_destroy");
	must(close(fd) == 0 && close(read_only) == 0, "close");
	return 0;
}
