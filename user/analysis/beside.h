/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Waiting beside I/O: the time that a rank is in a collective call of MPI, outside of I/O calls, while others are in I/O (with
 * --collectives; other recorders record all calls of MPI).
 */
#ifndef IOPROBE_ANALYSIS_BESIDE_H
#define IOPROBE_ANALYSIS_BESIDE_H

#include "analysis/analysis.h"

/* last: the location whose I/O ends last while this one waits, TRACE_NONE if it goes on after that. */
struct beside_wait { uint32_t location, region, last; uint64_t begin_ns, end_ns, ns; };

struct beside_waits { struct beside_wait *v; size_t n; };

/* Waits for the I/O of one location, or of all (TRACE_NONE). Returns false without memory; the caller frees waits->v. */
bool beside_find(const struct analysis *a, uint32_t of, struct beside_waits *waits);
/* Of a location's spans of I/O: how many there are, how many follow a collective call that brings data to one rank, and the time of
 * these calls. */
struct beside_gathered { uint64_t spans, gathered, ns; };
struct beside_gathered beside_count_gathered(const struct analysis *a, uint32_t location);
/* Whether the location has collective calls that begin or end between these times. */
bool beside_has_calls(const struct analysis *a, uint32_t location, uint64_t from_ns, uint64_t to_ns);

#endif
