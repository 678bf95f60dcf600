/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites in the agent: answers requests of the BPF programs (bpf/sites.bpf.h), in a thread of its own, so that neither the
 * rings nor programs that wait for their probes wait for it. At the end it determines the functions and lines of the addresses.
 */
#ifndef IOPROBE_SITES_CAPTURE_H
#define IOPROBE_SITES_CAPTURE_H

#include "bpf/bpf_side.h"
#include "spool/spool.h"

struct sites;

/* frames: number of application frames, as configured in the programs. set must outlive the sites. Returns 0 or -errno. */
int sites_create(struct sites **out, const struct bpf_side *kernel, const struct table_set *set, unsigned frames);
void sites_destroy(struct sites *sites);        /* NULL is allowed */

/* A process that waits for its probes: what is to be known of its code before its first call is read now. Waits PREPARE_MS at most
 * for the thread that answers. */
void sites_prepare(struct sites *sites, pid_t pid);
/* Writes what was learned since the last call. All these accept NULL and do nothing then. */
void sites_step(struct sites *sites, struct spool_writer *spool);
/* Ends the thread when every request has been answered. The BPF side is not used afterwards. */
void sites_stop(struct sites *sites, struct spool_writer *spool);
/* Determines and writes functions and lines; takes long. Opens no files except the mapped ones, and root's debug files below
 * /usr/lib/debug and beside them. */
void sites_symbolize(struct sites *sites, struct spool_writer *spool);

/* Requests that could not be answered, by reason. */
struct sites_counts {
	uint64_t gone;          /* the process had ended, or changed its code */
	uint64_t no_file;       /* addresses in no mapped file: generated code, or invalid */
	uint64_t unreadable;    /* in files that could not be read */
};
struct sites_counts sites_count(const struct sites *sites);

#endif
