/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * failures DIR: calls that fail: 3 open (ENOENT, ENOENT, EEXIST), 2 write (EBADF), 1 read (EBADF: write only), 1 fopen (ENOENT),
 * 1 close (EBADF), 1 unlink (ENOENT), 1 lseek (ESPIPE). That work: 1 open, 1 write of 5 bytes, 1 close.
 */
#include "golden.h"

#include <fcntl.h>

static void expect(long result, int error, const char *what)
{
	if (result != -1 || errno != error)
		die(what);
}

int main(int argc, char **argv)
{
	const char *missing, *file;
	int fd, ends[2];
	char c;

	if (argc != 2)
		return 2;
	missing = IN_DIR(argv[1], "no/such/file");
	file = IN_DIR(argv[1], "file");
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0 && pipe(ends) == 0, "open");
	must(write(fd, "hello", 5) == 5, "write");
	expect(open(missing, O_RDONLY), ENOENT, "open");
	expect(open(missing, O_WRONLY | O_CREAT, 0644), ENOENT, "open");
	expect(open(file, O_WRONLY | O_CREAT | O_EXCL, 0644), EEXIST, "open");
	expect(read(fd, &c, 1), EBADF, "read");
	must(close(fd) == 0, "close");
	expect(write(fd, "x", 1), EBADF, "write");
	expect(write(-1, "x", 1), EBADF, "write");
	expect(close(fd), EBADF, "close");
	expect(unlink(missing), ENOENT, "unlink");
	expect(lseek(ends[0], 0, SEEK_CUR), ESPIPE, "lseek");
	must(fopen(missing, "r") == NULL && errno == ENOENT, "fopen");
	return 0;
}
