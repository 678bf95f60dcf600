/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * storm DIR: makes DIR/ready, waits for DIR/go; then rounds of 4 Mi fputc to DIR/bytes until DIR/stop exists, at most 600 of them; then
 * 10 x dprintf of 8 bytes to DIR/end.
 */
#include "golden.h"

#include <fcntl.h>

static bool exists(const char *dir, const char *name)
{
	return access(IN_DIR(dir, name), F_OK) == 0;
}

int main(int argc, char **argv)
{
	FILE *file;
	int end;

	must(argc == 2, "usage: storm DIR");
	file = fopen(IN_DIR(argv[1], "bytes"), "w");
	end = creat(IN_DIR(argv[1], "end"), 0644);
	must(file && end >= 0 && close(creat(IN_DIR(argv[1], "ready"), 0644)) == 0, "open");
	for (int i = 0; i < 600 && !exists(argv[1], "go"); i++)
		usleep(100000);
	for (int round = 0; round < 600 && !exists(argv[1], "stop"); round++) {
		for (int i = 0; i < 1 << 22; i++)
			fputc('x', file);
		rewind(file);   /* the file stays small */
	}
	write_n(end, 10, 8);
	return fclose(file) ? 1 : 0;
}
