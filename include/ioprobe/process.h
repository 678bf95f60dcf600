/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State of a process in the BPF programs; the recorder reads it.
 */
#ifndef IOPROBE_PROCESS_H
#define IOPROBE_PROCESS_H

#include <ioprobe/record.h>

#define IOP_KNOWN_FDS 4096              /* descriptors per process whose "already described" state is kept */

/* A process, or a descriptor table that only some of its threads use; with a bit for each descriptor that was described. */
struct process {
	__u64 owner;	/* id of the recording and, below it, tgid; free if 0, or if that recording has ended */
	__u32 unprobed_code;	/* it has mapped code that the agent has not yet inspected for this process */
	__u32 table_users;	/* number of threads, if the slot is for a descriptor table of threads */
	__u32 generation;	/* how often the slot was allocated */
	__u32 many_threads;	/* the descriptor table has several users */
	__u32 image; /* generation of its address space, for addresses of code (call sites); 0: code mappings are being changed */
	__u32 pad;
	__u64 known[IOP_KNOWN_FDS / 64];
	__u64 excluded[IOP_KNOWN_FDS / 64];   /* bit per descriptor: excluded by the filter by file */
};

#endif
