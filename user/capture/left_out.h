/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes what the BPF programs' filters excluded to the spool as it grows, so that a truncated recording has it too.
 */
#ifndef IOPROBE_LEFT_OUT_H
#define IOPROBE_LEFT_OUT_H

#include "bpf/filter.h"
#include "bpf/kernel_side.h"
#include "spool/spool.h"

struct left_out;

/* Writes which filters are active. Returns 0 or -ENOMEM. */
int left_out_create(struct left_out **out, const struct filter *filter, const struct kernel_side *kernel,
		    const struct table_set *set, struct spool_writer *spool);
void left_out_destroy(struct left_out *left_out);       /* NULL is allowed, here and below */
/* Writes the calls that were excluded since the last time. */
void left_out_note(struct left_out *left_out);

#endif
