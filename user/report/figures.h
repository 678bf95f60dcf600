/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Figures of the HTML report, as SVG together with their numbers.
 */
#ifndef IOPROBE_REPORT_FIGURES_H
#define IOPROBE_REPORT_FIGURES_H

#include <stdio.h>

#include "analysis/analysis.h"

void figure_times(FILE *out, const struct analysis *a);         /* breakdown of the I/O time of the rank with the most */
void figure_timeline(FILE *out, const struct analysis *a);      /* ranks over time */
void figure_sizes(FILE *out, const struct analysis *a);         /* operations by size and layer */
void figure_collectives(FILE *out, const struct analysis *a);   /* which ranks make the system calls inside collective calls */

#endif
