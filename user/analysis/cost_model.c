/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Theil-Sen estimator over the median times of the size classes: insensitive to single slow requests (write-back, a busy machine).
 */
#include "analysis/cost_model.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_REQUESTS 30
#define LEAST_PER_CLASS 3

static unsigned time_bin(uint64_t ns)
{
	double bin = ns ? 4 * log2((double)ns) : 0;

	return bin < TIME_BINS - 1 ? (unsigned)bin : TIME_BINS - 1;
}

void size_times_add(struct size_times *t, uint64_t bytes, uint64_t ns)
{
	t->n[time_bin(ns)]++;
	t->count++;
	t->bytes += bytes;
	t->ns += ns;
}

static double median_ns(const struct size_times *t)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < TIME_BINS; i++) {
		seen += t->n[i];
		if (2 * seen >= t->count)
			return exp2((i + 0.5) / 4);
	}
	return 0;
}

static int cost_model_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double cost_model_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), cost_model_ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct cost_model cost_model_fit(const struct facts *facts, unsigned fs, int dir)
{
	double size[SIZE_BINS], time[SIZE_BINS], slopes[SIZE_BINS * SIZE_BINS / 2], rest[SIZE_BINS];
	uint64_t requests = 0;
	size_t n = 0, nslopes = 0;
	struct cost_model m = { 0 };

	for (unsigned b = 1; b < SIZE_BINS && fs < FS_KINDS; b++) {
		const struct size_times *t = &facts->sizes[fs][dir][b];

		requests += t->count;
		if (t->count < LEAST_PER_CLASS)
			continue;
		size[n] = (double)t->bytes / t->count;
		time[n++] = median_ns(t);
	}
	if (requests < LEAST_REQUESTS || n < 2 || size[n - 1] < 16 * size[0])
		return m;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (size[j] >= 4 * size[i])
				slopes[nslopes++] = (time[j] - time[i]) / (size[j] - size[i]);
	if (!nslopes)
		return m;
	m.ns_per_byte = fmax(cost_model_median(slopes, nslopes), 0);
	for (size_t i = 0; i < n; i++)
		rest[i] = time[i] - m.ns_per_byte * size[i];
	m.latency_ns = fmax(cost_model_median(rest, n), 0);
	m.known = true;
	return m;
}
