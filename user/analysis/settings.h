/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of a finding's files that bear on it: what the program set, which a change would set otherwise.
 */
#ifndef IOPROBE_ANALYSIS_SETTINGS_H
#define IOPROBE_ANALYSIS_SETTINGS_H

#include "analysis/analysis.h"

#define SETTINGS_SHOWN 4        /* in reports for people */
#define SETTINGS_LISTED 100     /* in those for programs */

/* Writes at most max of them to list, in the order of the finding's files; returns how many there are. */
size_t finding_settings(const struct analysis *a, const struct finding *f, const struct trace_fact **list, size_t max);

#endif
