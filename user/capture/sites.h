/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites, the agent's part: answers what the BPF programs ask (bpf/sites.h), in a thread of its own, so that neither the rings nor
 * programs that wait for their probes wait for it; at the end finds out which functions and lines the addresses are.
 */
#ifndef IOPROBE_SITES_CAPTURE_H
#define IOPROBE_SITES_CAPTURE_H

#include "bpf/kernel_side.h"
#include "spool/spool.h"

struct sites;

/* frames: of the application, as the programs were told. set must outlive the sites. Returns 0 or -errno. */
int sites_create(struct sites **out, const struct kernel_side *kernel, const struct table_set *set, unsigned frames);
void sites_destroy(struct sites *sites);        /* NULL is fine */

/* Writes what was learned since the last call. All these accept NULL and do nothing then. */
void sites_step(struct sites *sites, struct spool_writer *spool);
/* Ends the thread, when every question has been answered. The kernel side is not used afterwards. */
void sites_stop(struct sites *sites, struct spool_writer *spool);
/* Looks the addresses up and writes their functions and lines; takes its time. Opens no file but those that are mapped, and root's
 * below /usr/lib/debug and beside them. */
void sites_symbolize(struct sites *sites, struct spool_writer *spool);

/* Questions that could not be answered, by reason. */
struct sites_counts {
	uint64_t gone;          /* the process had ended, or changed its code */
	uint64_t no_file;       /* addresses in no mapped file: generated code, or none */
	uint64_t unreadable;    /* in files that could not be read */
};
struct sites_counts sites_count(const struct sites *sites);

#endif
