/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * faults DIR: DIR/shared of 16 pages is mapped shared and written page by page; syncfs has the kernel write 16 pages back, after
 * which 4 pages are written again and written back by msync: 20 write faults, 20 pages written back. DIR/private of 16 pages is
 * mapped privately, 3 pages of it are written: no write fault of a file, but reads.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { PAGES = 16, PAGE = 4096 };

static char *map(const char *path, int flags, int *fd)
{
	char *p;

	*fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(*fd >= 0, "open");
	write_n(*fd, PAGES, PAGE);
	must(fsync(*fd) == 0, "fsync");
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, *fd, 0);
	must(p != MAP_FAILED, "mmap");
	return p;
}

int main(int argc, char **argv)
{
	volatile char *shared, *private;
	int fd, other;

	if (argc != 2)
		return 2;
	shared = map(IN_DIR(argv[1], "shared"), MAP_SHARED, &fd);
	for (int i = 0; i < PAGES; i++)
		shared[i * PAGE] = 1;
	must(syncfs(fd) == 0, "syncfs");
	for (int i = 0; i < 4; i++)
		shared[i * PAGE] = 2;
	must(msync((void *)shared, PAGES * PAGE, MS_SYNC) == 0, "msync");
	private = map(IN_DIR(argv[1], "private"), MAP_PRIVATE, &other);
	for (int i = 0; i < 3; i++)
		private[i * PAGE] = 1;
	return 0;
}
