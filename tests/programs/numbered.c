/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * numbered DIR NAME N: waits until DIR/go exists, then writes its numbers 0 to N - 1, 8 bytes each, to DIR/NAME by pwrite at their
 * place, with 2 ms between them: N writes.
 */
#include "golden.h"

#include <fcntl.h>
#include <stdint.h>

int main(int argc, char **argv)
{
	char go[4096], path[4096];
	int fd;

	must(argc == 4, "usage: numbered DIR NAME N");
	in_dir(go, sizeof(go), argv[1], "go");
	fd = open(in_dir(path, sizeof(path), argv[1], argv[2]), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0, argv[2]);
	while (access(go, F_OK))
		usleep(20000);
	for (uint64_t i = 0; i < strtoull(argv[3], NULL, 10); i++) {
		must(pwrite(fd, &i, sizeof(i), i * sizeof(i)) == sizeof(i), "pwrite");
		usleep(2000);
	}
	return 0;
}
