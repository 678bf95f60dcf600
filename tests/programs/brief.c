/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * brief DIR: waits for DIR/go, then 300 processes, 20 at a time, which live just long enough to write 5 bytes each to DIR/brief:
 * they end on one CPU before the record of their beginning on the other has been read.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { ROUNDS = 15, AT_ONCE = 20 };

int main(int argc, char **argv)
{
	int status, fd;

	must(argc == 2, "usage");
	for (int i = 0; access(IN_DIR(argv[1], "go"), F_OK); i++) {
		must(i < 600, "no go within 60 s");
		usleep(50000);
	}
	fd = open(IN_DIR(argv[1], "brief"), O_WRONLY | O_CREAT | O_APPEND, 0644);
	must(fd >= 0, "open");
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			if (fork() == 0)
				_exit(write(fd, "brief", 5) == 5 ? 0 : 3);
		for (int i = 0; i < AT_ONCE; i++)
			must(wait(&status) > 0 && status == 0, "child");
	}
	return 0;
}
