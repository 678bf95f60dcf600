/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the BPF programs know of a process; the recorder reads it.
 */
#ifndef IOPROBE_PROCESS_H
#define IOPROBE_PROCESS_H

#include <ioprobe/record.h>

#define IOP_KNOWN_FDS 4096              /* descriptors of a process that are remembered as described */

/* A process, or a descriptor table of some of its threads; which of its descriptors were described already. */
struct process {
	__u64 owner;	/* id of the recording and, below it, tgid; free if 0, or if that recording has ended */
	__u32 unprobed_code;	/* it has mapped code that the agent has not yet looked at for this process */
	__u32 table_users;	/* threads, of a slot for a descriptor table of theirs */
	__u32 generation;	/* how often the slot was used */
	__u32 many_threads;	/* use its descriptors */
	__u32 image;	/* what addresses of its code mean (call sites), 0: they are just changing */
	__u32 pad;
	__u64 known[IOP_KNOWN_FDS / 64];
	__u64 left_out[IOP_KNOWN_FDS / 64];   /* descriptors that the filter by file excludes */
};

#endif
