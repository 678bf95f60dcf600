/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * aio DIR: on DIR/file, blocks of 1000 bytes:
 *   3 aio_write polled with aio_error, then aio_return; 1 more that another thread finishes with aio_return
 *   1 aio_fsync; 1 aio_read of which the file has 300 bytes; 1 aio_read on a descriptor that cannot be read (fails)
 *   lio_listio LIO_WAIT: 2 writes, 1 read, 1 LIO_NOP, then 3 aio_return; the same with 1 read that fails (the call fails), 2
 *     aio_return
 *   lio_listio LIO_NOWAIT: 3 writes, aio_suspend until done, 3 aio_return
 *   lio_listio LIO_NOWAIT of 200 writes of 1 byte to DIR/many, 200 aio_return
 *   2 aio_read on a pipe: the second is cancelled while it is queued, the first gets 5 bytes; 1 more, found cancelled by aio_error
 *   1 aio_write whose result is never requested
 * In all: 9 + 200 writes (9000 bytes, 200 bytes), of these 1 never finished; reads of 300, 1000, 1000 and 5 bytes, 2 failed, 2
 * cancelled.
 */
#include "golden.h"

#include <aio.h>
#include <fcntl.h>
#include <pthread.h>

enum { BLOCK = 1000, MANY = 200 };

static char block[BLOCK], back[4][BLOCK];
static int fd, placed;

static void finish(struct aiocb *cb, ssize_t expected)
{
	int error;

	while ((error = aio_error(cb)) == EINPROGRESS)
		usleep(1000);
	must(aio_return(cb) == expected, "aio_return");
	must((error == 0) == (expected >= 0), "aio_error");
}

static struct aiocb next_block(void)
{
	return (struct aiocb){ .aio_fildes = fd, .aio_buf = block, .aio_nbytes = BLOCK, .aio_offset = placed++ * BLOCK,
			       .aio_lio_opcode = LIO_WRITE };
}

static struct aiocb read_at(int from, int n, off_t offset)
{
	return (struct aiocb){
		.aio_fildes = from, .aio_buf = back[n], .aio_nbytes = BLOCK, .aio_offset = offset, .aio_lio_opcode = LIO_READ
	};
}

static void *finish_elsewhere(void *cb)
{
	finish(cb, BLOCK);
	return NULL;
}

static void one_by_one(void)
{
	struct aiocb cb[4], sync = { .aio_fildes = fd };
	pthread_t thread;

	for (int i = 0; i < 4; i++) {
		cb[i] = next_block();
		must(!aio_write(&cb[i]), "aio_write");
	}
	for (int i = 0; i < 3; i++)
		finish(&cb[i], BLOCK);
	must(!pthread_create(&thread, NULL, finish_elsewhere, &cb[3]) && !pthread_join(thread, NULL), "thread");
	must(!aio_fsync(O_SYNC, &sync), "aio_fsync");
	finish(&sync, 0);
}

static void short_and_failed(int unreadable)
{
	struct aiocb at_end = read_at(fd, 0, placed * BLOCK - 300), bad = read_at(unreadable, 1, 0);

	must(!aio_read(&at_end), "aio_read");
	finish(&at_end, 300);
	must(!aio_read(&bad), "aio_read");
	finish(&bad, -1);
}

static void lists(int unreadable)
{
	struct aiocb a = next_block(), b = next_block(), c = read_at(fd, 0, 0), nop = { .aio_lio_opcode = LIO_NOP };
	struct aiocb *list[] = { &a, &nop, &b, NULL, &c };
	struct aiocb good = read_at(fd, 1, 0), bad = read_at(unreadable, 2, 0), *half[] = { &good, &bad };

	must(!lio_listio(LIO_WAIT, list, 5, NULL), "lio_listio");
	finish(&a, BLOCK);
	finish(&b, BLOCK);
	finish(&c, BLOCK);
	must(lio_listio(LIO_WAIT, half, 2, NULL) < 0 && errno == EIO, "lio_listio with a failure");
	finish(&good, BLOCK);
	finish(&bad, -1);
}

static void background_list(void)
{
	struct aiocb cb[3], *list[3];

	for (int i = 0; i < 3; i++) {
		cb[i] = next_block();
		list[i] = &cb[i];
	}
	must(!lio_listio(LIO_NOWAIT, list, 3, NULL), "lio_listio");
	for (int i = 0; i < 3; i++) {
		const struct aiocb *one[] = { &cb[i] };

		must(!aio_suspend(one, 1, NULL), "aio_suspend");
		finish(&cb[i], BLOCK);
	}
}

static void many(const char *dir)
{
	static struct aiocb cb[MANY], *list[MANY];
	int to = open(IN_DIR(dir, "many"), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < MANY; i++) {
		cb[i] = (struct aiocb){
			.aio_fildes = to, .aio_buf = block, .aio_nbytes = 1, .aio_offset = i, .aio_lio_opcode = LIO_WRITE
		};
		list[i] = &cb[i];
	}
	must(!lio_listio(LIO_NOWAIT, list, MANY, NULL), "lio_listio");
	for (int i = 0; i < MANY; i++)
		finish(&cb[i], 1);
	must(!close(to), "close");
}

static void cancelled(void)
{
	struct aiocb first, second, third;
	int ends[2];

	must(!pipe(ends), "pipe");
	first = read_at(ends[0], 0, 0);
	second = read_at(ends[0], 1, 0);
	third = read_at(ends[0], 2, 0);
	must(!aio_read(&first) && !aio_read(&second) && !aio_read(&third), "aio_read");
	usleep(100000);         /* until the first one is being read */
	must(aio_error(&first) == EINPROGRESS, "aio_error");
	must(aio_cancel(ends[0], &second) == AIO_CANCELED, "aio_cancel");
	must(aio_error(&second) == ECANCELED && aio_return(&second) == -1, "cancelled");
	aio_cancel(ends[0], NULL);      /* the first one, which is being read, stays */
	must(aio_error(&third) == ECANCELED && aio_return(&third) == -1, "cancelled with all");
	must(write(ends[1], "hello", 5) == 5, "write");
	finish(&first, 5);
}

int main(int argc, char **argv)
{
	static struct aiocb never;
	int unreadable;

	must(argc == 2, "usage");
	fd = open(IN_DIR(argv[1], "file"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	unreadable = open(IN_DIR(argv[1], "unreadable"), O_WRONLY | O_CREAT, 0644);
	must(fd >= 0 && unreadable >= 0, "open");
	one_by_one();
	short_and_failed(unreadable);
	lists(unreadable);
	background_list();
	many(argv[1]);
	cancelled();
	never = next_block();
	must(!aio_write(&never), "aio_write");
	usleep(200000);
	must(!close(fd), "close");
	return 0;
}
