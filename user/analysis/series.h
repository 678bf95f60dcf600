/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How a call's time develops from its first time to its last, in bounded memory: means of equally many successive calls.
 */
#ifndef IOPROBE_ANALYSIS_SERIES_H
#define IOPROBE_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define SERIES_POINTS 64

struct series {
	uint32_t each, n, open;         /* calls in a point, complete points, calls in the point that is being made */
	double ns, below, asked;        /* of that point: time, bytes moved below, bytes asked */
	struct { float ns, below, asked; } points[SERIES_POINTS];
};

void series_add(struct series *s, uint64_t ns, uint64_t below, uint64_t asked);

/* Theil and Sen's slope times the number of points, and the median of the first quarter. */
struct trend { double growth, start, p; };
struct trend series_trend(const struct series *s, bool below);
/* All points ask for about as much as their median. */
bool series_is_even(const struct series *s);

#endif
