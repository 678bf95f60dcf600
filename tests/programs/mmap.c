/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mmap DIR: DIR/mapped gets 65536 bytes by ftruncate, is mapped, written through memory, msync'ed, unmapped; the descriptor was
 * closed after the mapping. 1 mmap of the file, 1 msync, no write. 4 pread of 8 bytes at 0, 4096, 8192, 12288 verify.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { LENGTH = 65536, PAGE = 4096 };

int main(int argc, char **argv)
{
	const char *path;
	char word[8];
	char *map;
	int fd;

	if (argc != 2)
		return 2;
	path = IN_DIR(argv[1], "mapped");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0 && ftruncate(fd, LENGTH) == 0, "ftruncate");
	map = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED && close(fd) == 0, "mmap");
	for (int i = 0; i < LENGTH; i += PAGE)
		memcpy(map + i, "golden!", 8);
	must(msync(map, LENGTH, MS_SYNC) == 0 && munmap(map, LENGTH) == 0, "msync");
	fd = open(path, O_RDONLY);
	for (int i = 0; i < 4; i++)
		must(pread(fd, word, 8, (off_t)i * PAGE) == 8 && !memcmp(word, "golden!", 8), "pread");
	must(close(fd) == 0, "close");
	return 0;
}
