/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How the BPF programs recognise a job's processes when they exec: by owner and by entries of their environment.
 */
#ifndef IOPROBE_JOB_MATCHER_H
#define IOPROBE_JOB_MATCHER_H

#include <ioprobe/record.h>

#define IOP_MAX_AWAITED 4
#define IOP_ENTRY_ROOM 128

struct iop_job_matcher {
	__u32 uid;              /* real user id */
	__u32 on;               /* 0: no job process is awaited */
	/* "NAME=VALUE" with its NUL, and a mask with ones where it has bytes. The mask of an unused entry is zero, so every
	 * environment matches it. A process matches if all entries are in its environment. */
	struct { __u64 text[IOP_ENTRY_ROOM / 8], mask[IOP_ENTRY_ROOM / 8]; } entry[IOP_MAX_AWAITED];
};

_Static_assert(sizeof(struct iop_job_matcher) == 8 + IOP_MAX_AWAITED * 2 * IOP_ENTRY_ROOM, "iop_awaited");

#endif
