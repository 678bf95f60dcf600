/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * copies DIR: 10 writes of 4096 bytes to DIR/source, then sendfile 40960 to DIR/a, copy_file_range 40960 to DIR/b, splice 4096 to a
 * pipe and 4096 on to DIR/c; readv of 3 x 100 and pwritev of 2 x 200 bytes (at 4096) on DIR/c; preadv2, pwritev2 of 50 bytes.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { LENGTH = 40960 };

static int open_in(const char *dir, const char *name)
{
	int fd = open(IN_DIR(dir, name), O_RDWR | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, name);
	return fd;
}

static void vectors(int fd)
{
	static char buf[3][100], out[2][200], one[50];
	struct iovec in3[] = { { buf[0], 100 }, { buf[1], 100 }, { buf[2], 100 } };
	struct iovec out2[] = { { out[0], 200 }, { out[1], 200 } };
	struct iovec single = { one, 50 };

	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	must(readv(fd, in3, 3) == 300, "readv");
	must(pwritev(fd, out2, 2, 4096) == 400, "pwritev");
	must(preadv2(fd, &single, 1, 10, 0) == 50, "preadv2");
	must(pwritev2(fd, &single, 1, 5000, 0) == 50, "pwritev2");
}

int main(int argc, char **argv)
{
	int source, a, b, c, ends[2];
	off_t from = 0, from2 = 0;

	if (argc != 2)
		return 2;
	source = open_in(argv[1], "source");
	a = open_in(argv[1], "a");
	b = open_in(argv[1], "b");
	c = open_in(argv[1], "c");
	write_n(source, 10, 4096);
	must(sendfile(a, source, &from, LENGTH) == LENGTH, "sendfile");
	must(copy_file_range(source, &from2, b, NULL, LENGTH, 0) == LENGTH, "copy_file_range");
	must(pipe(ends) == 0 && lseek(source, 0, SEEK_SET) == 0, "pipe");
	must(splice(source, NULL, ends[1], NULL, 4096, 0) == 4096, "splice");
	must(splice(ends[0], NULL, c, NULL, 4096, 0) == 4096, "splice");
	vectors(c);
	must(close(source) == 0 && close(a) == 0 && close(b) == 0 && close(c) == 0, "close");
	return 0;
}
