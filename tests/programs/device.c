/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * device DIR: DIR/data of 4 MiB is written, synced and dropped from the page cache; then read by 64 pread64 of 64 KiB from the
 * device, by 64 more from memory, and by 16 of 4096 bytes past the page cache.
 */
#include "golden.h"

#include <fcntl.h>

enum { SIZE = 64 << 10, N = 64, DIRECT = 4096 };

static void read_n(int fd, int n, size_t size)
{
	static char buf[SIZE] __attribute__((aligned(4096)));

	for (int i = 0; i < n; i++)
		must(pread(fd, buf, size, i * size) == (ssize_t)size, "pread");
}

int main(int argc, char **argv)
{
	int fd, direct;

	if (argc != 2)
		return 2;
	fd = open(IN_DIR(argv[1], "data"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0, "open");
	write_n(fd, N * SIZE / 4096, 4096);
	must(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fsync and fadvise");
	read_n(fd, N, SIZE);
	read_n(fd, N, SIZE);
	direct = open(IN_DIR(argv[1], "data"), O_RDONLY | O_DIRECT);
	must(direct >= 0, "open for direct I/O");
	read_n(direct, 16, DIRECT);
	return 0;
}
