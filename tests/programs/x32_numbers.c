/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * x32_numbers FILE: 10 times a write of 8 bytes to FILE with the x32 number, which fails with ENOSYS where the kernel lacks that
 * ABI, then one with the x86-64 number.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define X32 0x40000000

int main(int argc, char **argv)
{
	int fd;

	must(argc == 2, "usage: x32_numbers FILE");
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	must(fd >= 0, "open");
	for (int i = 0; i < 10; i++) {
		syscall(X32 | SYS_write, fd, "x32 x32", 8);
		must(write(fd, "ioprobe", 8) == 8, "write");
	}
	must(!close(fd), "close");
	return 0;
}
