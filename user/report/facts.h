/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Figures that are used by several formats.
 */
#ifndef IOPROBE_REPORT_FACTS_H
#define IOPROBE_REPORT_FACTS_H

#include "analysis/analysis.h"

/* For the first line of a report: whether the trace is complete. */
bool report_is_complete(const struct analysis *a);
void report_completeness(const struct analysis *a, char *text, size_t len);

/* Categories of a location's I/O time. */
enum { TIME_READ, TIME_WRITE, TIME_META, TIME_SYNC, TIME_LOCK, TIME_MPI, TIME_LIBRARY, REPORT_TIMES };
extern const char *const report_time_names[REPORT_TIMES];
struct report_times { uint64_t ns[REPORT_TIMES]; };
void report_times(const struct analysis *a, uint32_t location, struct report_times *times);
uint64_t report_median_io(const struct analysis *a);    /* ns, over ranks or processes with I/O */

struct report_layer { uint64_t calls, failed, ns, system_ns, bytes[DIRS], unknown; };
bool report_layer(const struct analysis *a, enum trace_layer layer, struct report_layer *r);    /* false: no calls */

/* Data files in descending order of time on their highest layer; users: ranks, or processes where there are no ranks. */
const char *report_users_name(const struct analysis *a);        /* "ranks", "processes" */
struct report_file { uint32_t file; uint64_t users, bytes[DIRS], n[DIRS], ns; enum trace_layer layer; };
size_t report_files(const struct analysis *a, struct report_file *files, size_t max);

void report_saving(const struct finding *f, char *text, size_t len);
/* Lists the facts that a detector lacks: "offsets, block sizes". */
void report_missing(const struct analysis *a, const struct detector *d, char *text, size_t len);

#endif
