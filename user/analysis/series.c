/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Points are joined in pairs when there are too many.
 */
#include "analysis/series.h"

#include <math.h>
#include <stdlib.h>

static void series_halve(struct series *s)
{
	for (unsigned i = 0; i < SERIES_POINTS / 2; i++) {
		s->points[i].ns = (s->points[2 * i].ns + s->points[2 * i + 1].ns) / 2;
		s->points[i].below = (s->points[2 * i].below + s->points[2 * i + 1].below) / 2;
		s->points[i].asked = (s->points[2 * i].asked + s->points[2 * i + 1].asked) / 2;
	}
	s->n = SERIES_POINTS / 2;
	s->each *= 2;
}

void series_add(struct series *s, uint64_t ns, uint64_t below, uint64_t asked)
{
	s->each = s->each ? s->each : 1;
	s->ns += ns;
	s->below += below;
	s->asked += asked;
	if (++s->open < s->each)
		return;
	s->points[s->n].ns = s->ns / s->each;
	s->points[s->n].below = s->below / s->each;
	s->points[s->n].asked = s->asked / s->each;
	s->ns = s->below = s->asked = 0;
	s->open = 0;
	if (++s->n == SERIES_POINTS)
		series_halve(s);
}

static int series_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double series_median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), series_ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Mann and Kendall's test, one side, by the normal distribution. */
static double series_chance(const double *v, unsigned n)
{
	double sum = 0, sigma = sqrt(n * (n - 1.0) * (2.0 * n + 5) / 18);

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i + 1; j < n; j++)
			sum += (v[j] > v[i]) - (v[j] < v[i]);
	return sum > 0 && sigma > 0 ? erfc((sum - 1) / sigma / sqrt(2)) / 2 : 1;
}

struct trend series_trend(const struct series *s, bool below)
{
	double v[SERIES_POINTS], slopes[SERIES_POINTS * SERIES_POINTS / 2], first[SERIES_POINTS];
	struct trend t = { 0, 0, 1 };
	unsigned nslopes = 0, quarter = s->n / 4;

	if (s->n < 8)
		return t;
	for (unsigned i = 0; i < s->n; i++) {
		v[i] = below ? s->points[i].below : s->points[i].ns;
		for (unsigned j = 0; j < i; j++)
			slopes[nslopes++] = (v[i] - v[j]) / (i - j);
	}
	for (unsigned i = 0; i < quarter; i++)
		first[i] = v[i];
	t.start = series_median(first, quarter);
	t.growth = series_median(slopes, nslopes) * s->n;
	t.p = series_chance(v, s->n);
	return t;
}

bool series_is_even(const struct series *s)
{
	double v[SERIES_POINTS], middle;

	if (!s->n)
		return false;
	for (unsigned i = 0; i < s->n; i++)
		v[i] = s->points[i].asked;
	middle = series_median(v, s->n);
	for (unsigned i = 0; i < s->n; i++)
		if (v[i] < 0.9 * middle || v[i] > 1.1 * middle)
			return false;
	return true;
}
