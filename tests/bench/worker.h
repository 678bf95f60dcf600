/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the benchmark's workers share: they take orders from stdin, "KIND SIZE BUDGET_MS REPETITIONS" or "KIND SIZE count N", and
 * answer with one line each, "KIND SIZE MEDIAN BEST CALLS" (ns per call). Time is taken around the calls only.
 */
#ifndef IOPROBE_BENCH_WORKER_H
#define IOPROBE_BENCH_WORKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_REPETITIONS 64
#define FILE_BYTES (1l << 20)  /* small enough to stay in the cache */

/* Makes n calls. Returns 0 if all of them did what they should. */
struct kind { const char *name; int (*calls)(long n, size_t size); };

/* Makes all ranks of a parallel worker decide alike; else NULL. */
static double (*agree)(double);
static long calls_made;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The time of n calls in ns, or -1. */
static double timed(const struct kind *kind, long n, size_t size)
{
	double begin = now_ns(), end;
	int failed = kind->calls(n, size);

	end = now_ns();
	calls_made += n;
	if (agree)
		failed = agree(failed ? -1 : 0) < 0;
	if (failed)
		return -1;
	return agree ? agree(end - begin) : end - begin;
}

/* Warm-up: doubles the number of calls until they take an eighth of the budget. The first call, which may open a file, does not
 * count. Returns the number that fills one repetition; 0: failed. */
static long calibrate(const struct kind *kind, size_t size, double budget_ns, int repetitions)
{
	long n = 1;
	double t;

	if (timed(kind, 1, size) < 0)
		return 0;
	while ((t = timed(kind, n, size)) >= 0 && t < budget_ns / 8)
		n *= 2;
	if (t < 0)
		return 0;
	n = (long)((double)n * budget_ns / repetitions / t);
	return n > 0 ? n : 1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int answer(FILE *out, const struct kind *kind, size_t size, const double *times, int repetitions, long n)
{
	double sorted[MAX_REPETITIONS];

	memcpy(sorted, times, repetitions * sizeof(*sorted));
	qsort(sorted, repetitions, sizeof(*sorted), compare);
	if (out)
		fprintf(out, "%s %zu %.2f %.2f %ld\n", kind->name, size, sorted[repetitions / 2] / (double)n, sorted[0] / (double)n,
			calls_made);
	return out ? fflush(out) : 0;
}

static int measure(FILE *out, const struct kind *kind, size_t size, double budget_ns, int repetitions)
{
	double times[MAX_REPETITIONS];
	long n;

	if (repetitions < 1 || repetitions > MAX_REPETITIONS)
		return -1;
	calls_made = 0;
	n = calibrate(kind, size, budget_ns, repetitions);
	for (int i = 0; i < repetitions && n; i++)
		if ((times[i] = timed(kind, n, size)) < 0)
			n = 0;
	return n ? answer(out, kind, size, times, repetitions, n) : -1;
}

static int count(FILE *out, const struct kind *kind, size_t size, long n)
{
	double t = timed(kind, n, size);

	calls_made = n;
	return t < 0 ? -1 : answer(out, kind, size, &t, 1, n);
}

/* One order. Returns 0, or -1 if it cannot be understood or a call failed. */
static int obey(FILE *out, const struct kind *kinds, size_t nkinds, const char *line)
{
	char name[32], budget[32];
	size_t size;
	long n;

	if (sscanf(line, "%31s %zu %31s %ld", name, &size, budget, &n) != 4 || n < 1)
		return -1;
	for (size_t i = 0; i < nkinds; i++)
		if (!strcmp(kinds[i].name, name))
			return strcmp(budget, "count") ? measure(out, &kinds[i], size, atof(budget) * 1e6, (int)n) :
			       count(out, &kinds[i], size, n);
	return -1;
}

/* Takes orders until stdin ends. */
static inline int serve(const struct kind *kinds, size_t nkinds)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin))
		if (obey(stdout, kinds, nkinds, line)) {
			fprintf(stderr, "worker: failed: %s", line);
			return 3;
		}
	return 0;
}

#endif
