/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * main_ends DIR: the first thread makes DIR/ready and ends when there is DIR/end; a second one writes a character each 10 ms until
 * there is DIR/go, then makes 20 fwrites of 10 bytes to DIR/late.
 */
#include "golden.h"

#include <pthread.h>

static const char *dir;

static void *go_on(void *unused)
{
	FILE *out = fopen("/dev/null", "w");

	while (out && access(IN_DIR(dir, "go"), F_OK)) {
		fputc('x', out);
		usleep(10000);
	}
	out = fopen(IN_DIR(dir, "late"), "w");
	for (int i = 0; out && i < 20; i++)
		fwrite("0123456789", 1, 10, out);
	if (!out || fclose(out))
		die("late");
	exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	FILE *ready;

	if (argc != 2)
		return 2;
	dir = argv[1];
	if (pthread_create(&thread, NULL, go_on, NULL))
		die("pthread_create");
	ready = fopen(IN_DIR(dir, "ready"), "w");
	if (!ready || fclose(ready))
		die("ready");
	while (access(IN_DIR(dir, "end"), F_OK))
		usleep(10000);
	pthread_exit(NULL);
}
