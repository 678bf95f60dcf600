/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's own records: information on host, tables, processes, mounts and libraries, written to the spool as text.
 */
#ifndef IOPROBE_NOTES_H
#define IOPROBE_NOTES_H

#include <sys/types.h>
#include "capture/bounds.h"
#include "bpf/filter.h"
#include "spool/spool.h"
#include "table/table.h"

/* A growing text of key=value lines. */
struct note { char *text; size_t len, cap; };
void note_add(struct note *note, const char *key, const char *value);            /* value is escaped */
__attribute__((format(printf, 3, 4)))
void note_addf(struct note *note, const char *key, const char *format, ...);
void note_free(struct note *note);

/* host: the node's name, NULL: from the system. cluster: name of the whole machine, NULL or "": unknown. shared_mounts: mount
 * points of file systems declared as shared by the nodes. bounds: limits that the archiver must observe too. command_line: how the
 * recording was started, with its options; NULL: by the service. call_sites: number of recorded application frames, 0: none. */
void note_host(struct spool_writer *spool, const char *host, const char *cluster, const char *const *shared_mounts,
	       size_t nshared_mounts, const struct bounds *bounds, const char *command_line, unsigned call_sites,
	       bool cpu_time);
void note_tables(struct spool_writer *spool, const struct table_set *set);
/* Writes exe, cmdline, cwd, rank variables; mpi: the process maps an MPI library. */
void note_process(struct spool_writer *spool, pid_t pid, bool mpi);
/* Writes the mount table that this process sees, and its namespace. */
void note_mounts(struct spool_writer *spool, pid_t pid);
/* Writes existing threads, and those descriptors that pass the filter. */
void note_scan(struct spool_writer *spool, pid_t pid, const struct filter *filter);
void note_missing(struct spool_writer *spool, const char *layer, const char *library, const char *function, const char *reason);
void note_gap(struct spool_writer *spool, pid_t pid, const char *layer, uint64_t from_ns, uint64_t to_ns, const char *reason);

#endif
