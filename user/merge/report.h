/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The report of a merge on its result.
 */
#ifndef IOPROBE_MERGE_REPORT_H
#define IOPROBE_MERGE_REPORT_H

#include <stdio.h>

#include "merge/merge.h"

int report_text(FILE *out, const struct merge *m);
int report_json(FILE *out, const struct merge *m);
/* On stderr, a line each: what makes the result less than it seems, clocks that disagree, ranks that are missing. */
void report_warnings(FILE *err, const struct merge *m);

#endif
