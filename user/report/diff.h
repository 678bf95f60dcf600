/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The comparison of two runs.
 */
#ifndef IOPROBE_REPORT_DIFF_H
#define IOPROBE_REPORT_DIFF_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Writes calls, bytes and times of layers and files of a and b, and findings that disappeared or are new. Files are matched by the
 * last component of their path, because runs write to different directories. Returns 0 or -ENOMEM. */
int report_write_diff(FILE *out, const struct analysis *a, const struct analysis *b);

#endif
