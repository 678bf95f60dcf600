/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Rates and sorts findings.
 */
#ifndef IOPROBE_ANALYSIS_FINDING_H
#define IOPROBE_ANALYSIS_FINDING_H

#include "analysis/analysis.h"

/* Sets each finding's cause, and orders them: by severity (what may be saved), then by what they cost on the rank that pays
 * most. */
void findings_rank(struct analysis *a);

#endif
