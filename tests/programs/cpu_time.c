/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cpu_time MEMORY DISK: where time goes in calls and between them. 20 reads of a pipe that another thread writes to, 10 ms after it
 * is asked; 128 pwrite of 1 MiB to MEMORY, a file that is kept in memory; 4 fsync of DISK; 5 lseek after 20 ms of computing each,
 * and 5 after as much sleep. Prints for each part what the thread's own clocks show: wall, CPU and run delay in nanoseconds, number
 * of sleeps.
 */
#include "golden.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

enum { READS = 20, WRITES = 128, SYNCS = 4, SEEKS = 5, MIB = 1 << 20 };
#define MS 1000000l

static int asked[2], answered[2];

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct times { uint64_t wall, cpu, delay, sleeps; };

/* Of the calling thread; run delay is exact while it runs. */
static struct times now(void)
{
	struct times t = { 0 };
	struct rusage usage;
	char text[100] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	unsigned long long cpu, delay;

	must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%llu %llu", &cpu, &delay) == 2, "schedstat");
	close(fd);
	getrusage(RUSAGE_THREAD, &usage);
	t.delay = delay;
	t.sleeps = usage.ru_nvcsw;
	t.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	t.wall = clock_ns(CLOCK_MONOTONIC);
	return t;
}

static void report(const char *name, struct times before)
{
	struct times after = now();

	printf("%s = %llu %llu %llu %llu\n", name, (unsigned long long)(after.wall - before.wall),
	       (unsigned long long)(after.cpu - before.cpu), (unsigned long long)(after.delay - before.delay),
	       (unsigned long long)(after.sleeps - before.sleeps));
}

static void sleep_ns(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void compute_ns(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void *answer(void *arg)
{
	char c;

	for (int i = 0; i < READS; i++) {
		must(read(asked[0], &c, 1) == 1, "read of the question");
		sleep_ns(10 * MS);
		must(write(answered[1], &c, 1) == 1, "write of the answer");
	}
	return arg;
}

static void read_pipe(void)
{
	struct times before;
	pthread_t thread;
	char c = 'x';

	must(!pipe(asked) && !pipe(answered) && !pthread_create(&thread, NULL, answer, NULL), "pipe");
	before = now();
	for (int i = 0; i < READS; i++)
		must(write(asked[1], &c, 1) == 1 && read(answered[0], &c, 1) == 1, "read of the pipe");
	report("pipe", before);
	pthread_join(thread, NULL);
}

static void write_memory(const char *path)
{
	char *block = malloc(MIB);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct times before;

	must(fd >= 0 && block, "file in memory");
	memset(block, 1, MIB);
	before = now();
	for (int i = 0; i < WRITES; i++)
		must(pwrite(fd, block, MIB, (off_t)(i % 64) * MIB) == MIB, "pwrite");
	report("memory", before);
	close(fd);
	unlink(path);
	free(block);
}

static void sync_disk(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct times before = now();

	must(fd >= 0, "file on disk");
	for (int i = 0; i < SYNCS; i++) {
		write_n(fd, 16, 4096);
		must(!fsync(fd), "fsync");
	}
	report("disk", before);
	for (int i = 0; i < SEEKS; i++) {
		compute_ns(20 * MS);
		must(lseek(fd, i, SEEK_SET) == i, "lseek");
	}
	for (int i = 0; i < SEEKS; i++) {
		sleep_ns(20 * MS);
		must(lseek(fd, 100 + i, SEEK_SET) == 100 + i, "lseek");
	}
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	read_pipe();
	write_memory(argv[1]);
	sync_disk(argv[2]);
	return 0;
}
