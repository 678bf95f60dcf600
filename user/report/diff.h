/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The comparison of two runs.
 */
#ifndef IOPROBE_REPORT_DIFF_H
#define IOPROBE_REPORT_DIFF_H

#include <stdio.h>

#include "analysis/analysis.h"

/* Calls, bytes and times of layers and files of a and b, findings that are gone and new. Files pair by the last component of their path:
 * runs write to directories of their own. Returns 0 or -ENOMEM. */
int report_write_diff(FILE *out, const struct analysis *a, const struct analysis *b);

#endif
