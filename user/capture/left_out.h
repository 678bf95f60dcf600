/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the kernel side's filters left out, told to the spool as it grows: a recording that is cut off has it too.
 */
#ifndef IOPROBE_LEFT_OUT_H
#define IOPROBE_LEFT_OUT_H

#include "bpf/filter.h"
#include "bpf/kernel_side.h"
#include "spool/spool.h"

struct left_out;

/* Notes which filters there are. Returns 0 or -ENOMEM. */
int left_out_create(struct left_out **out, const struct filter *filter, const struct kernel_side *kernel,
		    const struct table_set *set, struct spool_writer *spool);
void left_out_destroy(struct left_out *left_out);       /* NULL is fine, here and below */
/* Notes what was left out since the last time. */
void left_out_note(struct left_out *left_out);

#endif
