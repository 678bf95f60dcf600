/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * replaced DIR: writes DIR/same twice, 10 bytes each. Writes 10 bytes to each of three files, the second and the third of which
 * replace the one before by rename(2) from DIR/new to DIR/file while that is still open: three inodes in turn have the name
 * DIR/file. The second is mapped, and one page of it is written there.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { FILES = 3, SIZE = 10 };

static int create(const char *dir, const char *name)
{
	int fd = open(IN_DIR(dir, name), O_RDWR | O_CREAT, 0644);

	must(fd >= 0, "open");
	write_n(fd, 1, SIZE);
	return fd;
}

static void store_byte(int fd)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must(page != MAP_FAILED, "mmap");
	page[0] = 'x';
	must(munmap(page, 4096) == 0, "munmap");
}

int main(int argc, char **argv)
{
	int fds[FILES];

	must(argc == 2, "usage");
	for (int i = 0; i < 2; i++)
		close(create(argv[1], "same"));
	for (int i = 0; i < FILES; i++) {
		int fd = create(argv[1], i ? "new" : "file");

		must(!i || rename(IN_DIR(argv[1], "new"), IN_DIR(argv[1], "file")) == 0, "rename");
		close(fd);
		fds[i] = open(IN_DIR(argv[1], "file"), O_RDWR);
		must(fds[i] >= 0, "open again");
		write_n(fds[i], 1, SIZE);
	}
	store_byte(fds[1]);
	return 0;
}
