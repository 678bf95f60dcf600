/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes what the BPF programs' filters excluded to the spool as it grows, so that a truncated recording has it too.
 */
#ifndef IOPROBE_LEFT_OUT_H
#define IOPROBE_LEFT_OUT_H

#include "bpf/filter.h"
#include "bpf/bpf_side.h"
#include "spool/spool.h"

struct excluded;

/* Writes which filters are active. Returns 0 or -ENOMEM. */
int excluded_create(struct excluded **out, const struct filter *filter, const struct bpf_side *kernel,
		    const struct table_set *set, struct spool_writer *spool);
void excluded_destroy(struct excluded *excluded);       /* NULL is allowed, here and below */
/* Writes the calls that were excluded since the last time. */
void excluded_note(struct excluded *excluded);

#endif
