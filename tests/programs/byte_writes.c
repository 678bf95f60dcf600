/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * byte_writes FILE N: writes N bytes, one at a time, through a stream of 4096 bytes.
 */
#include "golden.h"

int main(int argc, char **argv)
{
	static char room[4096];
	FILE *file = argc == 3 ? fopen(argv[1], "w") : NULL;

	must(file && setvbuf(file, room, _IOFBF, sizeof(room)) == 0, "usage, fopen");
	for (long n = atol(argv[2]); n > 0; n--)
		must(fputc('x', file) == 'x', "fputc");
	must(fclose(file) == 0, "fclose");
	return 0;
}
