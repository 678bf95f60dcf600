/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * strings DIR: formatting in memory, which is no I/O though musl does it by a stream on the stack: 10 snprintf, 10 sscanf, 2
 * swprintf, in the main thread and in another one (40 and 4 in all). Between them on DIR/file: 1 fopen, 5 fprintf of 5 bytes, 1
 * fscanf, 1 fclose, and 1 dprintf of 7 bytes, which is a system call only.
 */
#include "golden.h"

#include <pthread.h>
#include <wchar.h>

static void *in_memory(void *arg)
{
	wchar_t wide[32];
	char text[32];
	int value;

	for (int i = 0; i < 10; i++) {
		must(snprintf(text, sizeof(text), "line %d", i) == 6, "snprintf");
		must(sscanf(text, "line %d", &value) == 1 && value == i, "sscanf");
	}
	for (int i = 0; i < 2; i++)
		must(swprintf(wide, 32, L"%d", i) == 1, "swprintf");
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int value;
	FILE *f;

	must(argc == 2, "usage: strings DIR");
	in_memory(NULL);
	must(!pthread_create(&thread, NULL, in_memory, NULL) && !pthread_join(thread, NULL), "thread");
	f = fopen(IN_DIR(argv[1], "file"), "w+");
	must(f != NULL, "fopen");
	for (int i = 0; i < 5; i++)
		must(fprintf(f, "%04d\n", i) == 5, "fprintf");
	must(!fflush(f) && dprintf(fileno(f), "direct\n") == 7, "dprintf");
	rewind(f);
	must(fscanf(f, "%d", &value) == 1 && !value, "fscanf");
	must(!fclose(f), "fclose");
	return 0;
}
