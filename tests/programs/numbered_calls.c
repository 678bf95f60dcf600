/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * numbered_calls DIR [THREADS [PAUSE_US [MAX [wait]]]]: numbers its calls, so that a trace shows which of them it has. Writes its
 * pid to DIR/ready; then every thread writes 0, 1, 2, … of 8 bytes each by pwrite64 at offset 8 * number to DIR/numbers.THREAD,
 * with an fputs and fflush of a line to DIR/ticks.THREAD and a pause after every 64, until DIR/stop exists or MAX are written; with
 * "wait" it then waits for DIR/stop. Reads all back, and prints "numbered THREADS TOTAL" if each has its number.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>

enum { BURST = 64, MAX_THREADS = 64 };

static const char *dir;
static unsigned pause_us = 1000;
static long most = 1L << 24;
static bool waits;

static const char *thread_file(char *buf, const char *kind, long thread)
{
	snprintf(buf, 4096, "%s/%s.%ld", dir, kind, thread);
	return buf;
}

static void burst(int fd, FILE *ticks, int64_t from)
{
	for (int64_t i = from; i < from + BURST; i++)
		must(pwrite(fd, &i, sizeof(i), i * (int64_t)sizeof(i)) == sizeof(i), "pwrite");
	must(fputs("tick\n", ticks) >= 0 && fflush(ticks) == 0, "fputs");
	if (pause_us)
		usleep(pause_us);
}

static void verify(int fd, long n)
{
	int64_t block[512];

	for (long i = 0; i < n; i += 512) {
		ssize_t wanted = (n - i < 512 ? n - i : 512) * (ssize_t)sizeof(*block);

		must(pread(fd, block, wanted, i * (long)sizeof(*block)) == wanted, "pread");
		for (long k = 0; k < wanted / (ssize_t)sizeof(*block); k++)
			must(block[k] == i + k, "a number is not in its place");
	}
}

static void *numbers(void *thread)
{
	char name[4096], stop[4096];
	int fd = open(thread_file(name, "numbers", (long)thread), O_RDWR | O_CREAT | O_TRUNC, 0644);
	FILE *ticks = fopen(thread_file(name, "ticks", (long)thread), "w");
	long n = 0;

	must(fd >= 0 && ticks, "open");
	snprintf(stop, sizeof(stop), "%s/stop", dir);
	for (; n < most && access(stop, F_OK); n += BURST)
		burst(fd, ticks, n);
	while (waits && access(stop, F_OK))
		usleep(10000);
	verify(fd, n);
	must(fclose(ticks) == 0 && close(fd) == 0, "close");
	return (void *)n;
}

static void write_pid(void)
{
	int fd = creat(IN_DIR(dir, "ready"), 0644);

	must(fd >= 0 && dprintf(fd, "%d\n", getpid()) > 0 && close(fd) == 0, "creat");
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	long n = argc > 2 ? atol(argv[2]) : 1, total = 0;

	must(argc >= 2 && n > 0 && n <= MAX_THREADS, "usage: numbered_calls DIR [THREADS [PAUSE_US [MAX [wait]]]]");
	dir = argv[1];
	pause_us = argc > 3 ? (unsigned)atoi(argv[3]) : pause_us;
	most = argc > 4 ? atol(argv[4]) : most;
	waits = argc > 5;
	write_pid();
	for (long i = 0; i < n; i++)
		must(pthread_create(&threads[i], NULL, numbers, (void *)i) == 0, "pthread_create");
	for (long i = 0; i < n; i++) {
		void *made;

		must(pthread_join(threads[i], &made) == 0, "pthread_join");
		total += (long)made;
	}
	printf("numbered %ld %ld\n", n, total);
	return 0;
}
