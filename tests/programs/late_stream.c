/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * late_stream FILE N: writes N bytes to FILE, each by an fwrite and an fflush of its own, which makes one write(2); 5 ms after
 * each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 5000000 };
	long n = argc == 3 ? atol(argv[2]) : 0;
	FILE *file = n ? fopen(argv[1], "w") : NULL;
	int bad = 0;

	if (!file)
		return 2;
	while (n--) {
		bad |= fwrite("x", 1, 1, file) != 1 || fflush(file);
		nanosleep(&pause, NULL);
	}
	return fclose(file) || bad;
}
