/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Intervals in which a process may have run without its probes, kept until it is known whether it did: a process that is held runs
 * no code that it has mapped.
 */
#ifndef IOPROBE_GAPS_H
#define IOPROBE_GAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spool/spool.h"

struct gap { const char *layer, *reason; uint64_t from_ns, to_ns; };    /* the strings are static or belong to the tables */
struct gaps { struct gap *v; size_t n; };

/* Without memory the gap is written at once. */
void gaps_add(struct gaps *gaps, struct spool_writer *spool, pid_t pid, struct gap gap);
/* The process ran from ran_ns on (0: all the time): writes the gaps in that time and empties the list. */
void gaps_write(struct gaps *gaps, struct spool_writer *spool, pid_t pid, uint64_t ran_ns);
void gaps_drop(struct gaps *gaps);      /* the process did not run */

#endif
