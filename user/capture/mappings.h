/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes the code mappings of a process as MAPPING records: call sites need them to turn an address into a place in a file.
 */
#ifndef IOPROBE_MAPPINGS_H
#define IOPROBE_MAPPINGS_H

#include "capture/libraries.h"
#include "proc/procfs.h"
#include "spool/spool.h"

/* Mappings that were already recorded for one program of a process. */
struct mapping_key { uint64_t start, end, offset, dev, ino; };
struct mappings { struct mapping_key *v; size_t n; };

/* Records the mappings that were not recorded before. since_ns: earliest time at which the new ones can have been created, 0:
 * before the recording. Without memory a mapping is recorded again the next time. */
void mappings_note(struct mappings *known, struct spool_writer *spool, struct libraries *libraries,
		   const struct proc_modules *modules, pid_t pid, uint64_t since_ns);
/* The process has executed another program, or has ended. */
void mappings_forget(struct mappings *known);

#endif
