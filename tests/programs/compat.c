/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * compat FILE [PROGRAM]: 10 writes of 8 bytes to FILE, then the same again by PROGRAM. Also built for i386.
 */
#include "golden.h"

#include <fcntl.h>

int main(int argc, char **argv)
{
	int fd;

	must(argc == 2 || argc == 3, "usage: compat FILE [PROGRAM]");
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	must(fd >= 0, "open");
	write_n(fd, 10, 8);
	must(!close(fd), "close");
	if (argc == 2)
		return 0;
	execl(argv[2], argv[2], argv[1], NULL);
	die(argv[2]);
}
