/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * takeover DIR: 14 processes of the same program, each started while the earlier ones are busy, and all at work at once when
 * ioprobe goes over from links of their own to one for all. Each puts 3000 bytes one by one into DIR/<n>: 42000 calls of fputc.
 */
#include "golden.h"

#include <sys/wait.h>

enum { PROCESSES = 14, BYTES = 3000 };

static int busy(const char *path)
{
	FILE *stream = fopen(path, "w");

	must(stream, "fopen");
	for (int i = 0; i < BYTES; i++) {
		must(fputc('x', stream) == 'x', "fputc");
		if (i % 10 == 0)
			usleep(1000);
	}
	must(fclose(stream) == 0, "fclose");
	return 0;
}

int main(int argc, char **argv)
{
	int status;

	must(argc == 2 || argc == 3, "usage");
	if (argc == 3)
		return busy(argv[2]);
	for (int i = 0; i < PROCESSES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		const char *path = IN_DIR(argv[1], name);
		if (fork() == 0) {
			execl("/proc/self/exe", argv[0], argv[1], path, (char *)NULL);
			_exit(3);
		}
	}
	for (int i = 0; i < PROCESSES; i++)
		must(wait(&status) > 0 && status == 0, "child");
	return 0;
}
