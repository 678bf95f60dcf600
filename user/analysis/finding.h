/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Judges and orders findings.
 */
#ifndef IOPROBE_ANALYSIS_FINDING_H
#define IOPROBE_ANALYSIS_FINDING_H

#include "analysis/analysis.h"

/* Sets each finding's cause, and orders them: by severity, then by what may be saved, then by code. */
void findings_rank(struct analysis *a);

#endif
