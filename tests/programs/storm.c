/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * storm DIR [THREADS]: makes DIR/ready, waits for DIR/go; then every thread makes rounds of 4 Mi fputc to a stream of its own in
 * DIR until DIR/stop exists, at most 600 of them; then 10 x write of 8 bytes to DIR/end. Prints the number of fputc.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>

#define ROUND (1 << 20)

static const char *dir;

static bool exists(const char *name)
{
	return access(IN_DIR(dir, name), F_OK) == 0;
}

static void *bytes(void *index)
{
	char stop[4096], name[4096];
	long rounds = 0;
	FILE *file;

	snprintf(stop, sizeof(stop), "%s/stop", dir);
	snprintf(name, sizeof(name), "%s/bytes%ld", dir, (long)index);
	file = fopen(name, "w");
	must(file, "fopen");
	for (; rounds < 2400 && access(stop, F_OK); rounds++) {
		for (int i = 0; i < ROUND; i++)
			fputc('x', file);
		rewind(file);   /* the file stays small */
	}
	must(fclose(file) == 0, "fclose");
	return (void *)rounds;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc == 3 ? atoi(argv[2]) : 1, end;
	long rounds = 0;

	must((argc == 2 || argc == 3) && n > 0 && n <= 64, "usage: storm DIR [THREADS]");
	dir = argv[1];
	end = creat(IN_DIR(dir, "end"), 0644);
	must(end >= 0 && close(creat(IN_DIR(dir, "ready"), 0644)) == 0, "open");
	for (int i = 0; i < 600 && !exists("go"); i++)
		usleep(100000);
	for (long i = 0; i < n; i++)
		must(pthread_create(&threads[i], NULL, bytes, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < n; i++) {
		void *made;

		must(pthread_join(threads[i], &made) == 0, "pthread_join");
		rounds += (long)made;
	}
	write_n(end, 10, 8);
	printf("%ld\n", rounds * ROUND);
	return 0;
}
