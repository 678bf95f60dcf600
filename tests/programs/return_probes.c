/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Another tool's return probes: return_probes RESULT FILE OFFSET... -- COMMAND...: on the functions at these offsets of FILE, in
 * all processes, while COMMAND runs. Writes how often each was hit to RESULT. Needs no BPF: perf events of the kernel's PMU uprobe.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROBES 4
#define MAX_CPUS 1024

static long number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	long number = -1;

	if (!file || fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

/* config bit 0: a return probe (/sys/bus/event_source/devices/uprobe/format/retprobe). */
static int open_probe(long type, const char *path, uint64_t offset, int cpu)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = 1, .uprobe_path = (uintptr_t)path,
					.probe_offset = offset };

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int fds[MAX_PROBES][MAX_CPUS];

static uint64_t hits(int probe, int ncpus)
{
	uint64_t sum = 0, n;

	for (int cpu = 0; cpu < ncpus; cpu++)
		if (fds[probe][cpu] >= 0 && read(fds[probe][cpu], &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum;
}

int main(int argc, char **argv)
{
	long type = number_in("/sys/bus/event_source/devices/uprobe/type");
	int ncpus = sysconf(_SC_NPROCESSORS_CONF), probes = 0, status = 0;
	FILE *result;
	pid_t child;

	if (argc < 6 || type < 0 || ncpus > MAX_CPUS)
		return 2;
	for (; probes < MAX_PROBES && strcmp(argv[3 + probes], "--"); probes++)
		for (int cpu = 0; cpu < ncpus; cpu++) {
			fds[probes][cpu] = open_probe(type, argv[2], strtoull(argv[3 + probes], NULL, 10), cpu);
			if (fds[probes][cpu] < 0)
				return 3;
		}
	child = fork();
	if (!child) {
		execv(argv[4 + probes], argv + 4 + probes);
		_exit(4);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 5;
	result = fopen(argv[1], "w");
	if (!result)
		return 6;
	for (int i = 0; i < probes; i++)
		fprintf(result, "%s%llu", i ? " " : "", (unsigned long long)hits(i, ncpus));
	fputc('\n', result);
	return fclose(result) ? 6 : 0;
}
