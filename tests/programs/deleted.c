/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * deleted DIR: opens DIR/gone, unlinks it, then 5 writes of 100 bytes; DIR/old is renamed to DIR/new while open, 5 writes of 100
 * bytes before and after; mkdir and rmdir of DIR/sub. 15 writes, 1500 bytes; 1 unlink, 1 rename, 1 mkdir, 1 rmdir.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	int gone, moved;

	if (argc != 2)
		return 2;
	gone = open(IN_DIR(argv[1], "gone"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	moved = open(IN_DIR(argv[1], "old"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(gone >= 0 && moved >= 0, "open");
	must(unlink(IN_DIR(argv[1], "gone")) == 0, "unlink");
	write_n(gone, 5, 100);
	write_n(moved, 5, 100);
	must(rename(IN_DIR(argv[1], "old"), IN_DIR(argv[1], "new")) == 0, "rename");
	write_n(moved, 5, 100);
	must(mkdir(IN_DIR(argv[1], "sub"), 0755) == 0 && rmdir(IN_DIR(argv[1], "sub")) == 0, "mkdir");
	must(close(gone) == 0 && close(moved) == 0, "close");
	return 0;
}
