/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_aio DIR EXPECTED: every function of probes/aio.probes, under both of its names: operations that end well, short, failed and
 * cancelled ones.
 */
#include "cover.h"

#include <aio.h>

enum { BLOCK = 100 };

static char block[BLOCK];

/* S: 64 or nothing. Every operation has a control block of its own, whose state is asked for once in each state: no call is one of
 * repetition. */
#define BOTH_NAMES(S) \
static struct aiocb##S *on##S(int fd, int opcode, size_t bytes, off_t offset) \
{ \
	static struct aiocb##S blocks[16]; \
	static int used; \
\
	must(used < 16, "too many operations"); \
	blocks[used] = (struct aiocb##S){ .aio_fildes = fd, .aio_lio_opcode = opcode, .aio_buf = block, \
				  .aio_nbytes = bytes, .aio_offset = offset }; \
	return &blocks[used++]; \
} \
\
static void finish##S(struct aiocb##S *cb, int error, ssize_t result, const char *ends) \
{ \
	const struct aiocb##S *list[] = { cb }; \
\
	CALL(aio_suspend##S(list, 1, NULL) == 0, "aio_suspend" #S); \
	CALL(aio_error##S(cb) == error, "aio_error" #S); \
	CALL(aio_return##S(cb) == result, "aio_return" #S " %s", ends); \
} \
\
static void one_by_one##S(int fd, int unreadable) \
{ \
	struct aiocb##S *w = on##S(fd, 0, BLOCK, 20), *r = on##S(fd, 0, BLOCK, 60), *sync = on##S(fd, 0, 0, 0); \
	struct aiocb##S *bad = on##S(unreadable, 0, BLOCK, 0), *refused = on##S(fd, 0, BLOCK, 0); \
\
	CALL(aio_write##S(w) == 0, "aio_write" #S " issue-write:100@20"); \
	finish##S(w, 0, BLOCK, "done:100"); \
	CALL(aio_read##S(r) == 0, "aio_read" #S " issue-read:100@60"); \
	finish##S(r, 0, 60, "done:60"); \
	CALL(aio_fsync##S(O_SYNC, sync) == 0, "aio_fsync" #S " issue-flush"); \
	finish##S(sync, 0, 0, "done:?"); \
	CALL(aio_read##S(bad) == 0, "aio_read" #S " issue-read:100@0"); \
	finish##S(bad, EBADF, -1, "! done:?"); \
	refused->aio_reqprio = -1; \
	CALL(aio_write##S(refused) == -1 && errno == EINVAL, "aio_write" #S " !"); \
} \
\
static void lists##S(int fd, int unreadable) \
{ \
	struct aiocb##S *w = on##S(fd, LIO_WRITE, BLOCK, 0), *r = on##S(fd, LIO_READ, 50, 10), *nop = on##S(fd, LIO_NOP, 0, 0); \
	struct aiocb##S *bad = on##S(unreadable, LIO_READ, BLOCK, 0), *again = on##S(fd, LIO_WRITE, BLOCK, 0); \
	struct aiocb##S *good[] = { w, nop, NULL, r }, *mixed[] = { bad, again }; \
\
	CALL(lio_listio##S(LIO_NOWAIT, good, 4, NULL) == 0, "lio_listio" #S " issue-write:100@0 issue-read:50@10"); \
	finish##S(w, 0, BLOCK, "done:100"); \
	finish##S(r, 0, 50, "done:50"); \
	CALL(lio_listio##S(LIO_WAIT, mixed, 2, NULL) == -1 && errno == EIO, \
		     "lio_listio" #S " ! issue-read:100@0 issue-write:100@0"); \
	CALL(aio_return##S(bad) == -1, "aio_return" #S " ! done:?"); \
	CALL(aio_return##S(again) == BLOCK, "aio_return" #S " done:100"); \
} \
\
/* The first read of an empty pipe is under way, those behind it are queued. */ \
static void cancelled##S(void) \
{ \
	struct aiocb##S *cb[3]; \
	int ends[2]; \
\
	must(pipe(ends) == 0, "pipe"); \
	for (int i = 0; i < 3; i++) { \
		cb[i] = on##S(ends[0], 0, BLOCK, 0); \
		CALL(aio_read##S(cb[i]) == 0, "aio_read" #S " issue-read:100@0"); \
	} \
	usleep(100000); /* until it is being read */ \
	CALL(aio_error##S(cb[0]) == EINPROGRESS, "aio_error" #S " test"); \
	CALL(aio_suspend##S((const struct aiocb##S *[]){ cb[0] }, 1, &(struct timespec){ 0 }) == -1 && errno == EAGAIN, \
	     "aio_suspend" #S " !"); \
	CALL(aio_cancel##S(ends[0], cb[1]) == AIO_CANCELED, "aio_cancel" #S " cancelled"); \
	CALL(aio_return##S(cb[1]) == -1, "aio_return" #S " !"); \
	CALL(aio_cancel##S(ends[0], NULL) == AIO_NOTCANCELED, "aio_cancel" #S); \
	CALL(aio_error##S(cb[2]) == ECANCELED, "aio_error" #S " cancelled"); \
	CALL(aio_return##S(cb[2]) == -1, "aio_return" #S " !"); \
	CALL(aio_cancel##S(-1, NULL) == -1 && errno == EBADF, "aio_cancel" #S " !"); \
	must(write(ends[1], "hello", 5) == 5, "write"); \
	finish##S(cb[0], 0, 5, "done:5"); \
	must(close(ends[0]) == 0 && close(ends[1]) == 0, "close"); \
} \
\
static void every##S(int fd, int unreadable) \
{ \
	one_by_one##S(fd, unreadable); \
	lists##S(fd, unreadable); \
	cancelled##S(); \
}

BOTH_NAMES()
BOTH_NAMES(64)

void golden(const char *dir)
{
	int fd = open(IN_DIR(dir, "file"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	int unreadable = open(IN_DIR(dir, "unreadable"), O_WRONLY | O_CREAT, 0644);

	must(fd >= 0 && unreadable >= 0, "open");
	every(fd, unreadable);
	must(ftruncate(fd, 0) == 0, "ftruncate");
	every64(fd, unreadable);
	must(close(fd) == 0 && close(unreadable) == 0, "close");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden(argv[1]);
	cover_write(argv[2]);
	return 0;
}
