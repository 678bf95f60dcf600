/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Keys and values of the maps that BPF programs and agent share, other than those of a subject with a header of its own: demand.h,
 * descriptor.h (filters), process.h, recording.h, sites.h.
 */
#ifndef IOPROBE_MAPS_H
#define IOPROBE_MAPS_H

#include <ioprobe/recording.h>

/* Map `counters`, per CPU, by slot of the recording. All members are counts of 8 bytes: the agent adds up the CPUs. */
struct iop_counters {
	__u64 lost;             /* records dropped by a full ring */
	__u64 untracked;        /* threads for which no state could be allocated */
	__u64 unwinds_late;     /* unwinders whose return addresses were not restored in time */
	__u64 holds_late;       /* launched processes whose probes were not in place in time */
	__u64 no_process_slot;
	/* waits not tracked: an outer wait called back into the program, which waited again; or no memory */
	__u64 waits_not_followed;
	__u64 privileged;       /* set-uid and otherwise privileged programs, not recorded */
	__u64 entry_only;       /* calls recorded at entry only: their return might be on another stack */
	__u64 unread_environments; /* new programs whose environment could not be read: whether they belong to the job is unknown */
	/* programs of the 32-bit ABIs (i386, x32), whose system calls have other numbers and arguments: not recorded */
	__u64 compat_programs;
	__u64 compat_calls;     /* all system calls of these ABIs */
	__u64 fd_unordered;     /* calls that could not be put in order with a change of their descriptor (bpf/fd_epochs.bpf.h) */
};

/* Map `threads`: the first members of a value, which the agent reads. The others are the BPF programs' own. */
struct iop_thread_head {
	__u32 recording;        /* its id */
	__u32 seq;
	__u32 depth;
	__u32 process;          /* slot in processes; 0: none was free */
};

/* Key of the map `looked_at`: files whose code the agent has inspected. dev: major number in the upper 32 bits. */
struct iop_file_key { __u64 dev, ino, recording; };

/* Map `mapped_files`, with --mmap-faults. Page faults for reading and writing; pages written back, by the kernel's own count and by
 * requests to the device; excluded: by the filter by file. */
struct iop_mapped_key { __u64 dev, ino; };
struct iop_mapped_counts { __u64 reads, writes, written_back, excluded, queued; };

/* Key of the map `requests`: a non-blocking operation on which no wait or test was observed yet. */
struct iop_request_key { __u64 value; struct iop_process_key process; };

_Static_assert(sizeof(struct iop_file_key) == 24, "iop_file_key");
_Static_assert(sizeof(struct iop_request_key) == 16, "iop_request_key");

#endif
