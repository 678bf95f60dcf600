/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recording in its slot, as the files bpf_side*.c share it.
 */
#ifndef IOPROBE_BPF_SIDE_INTERNAL_H
#define IOPROBE_BPF_SIDE_INTERNAL_H

#include <ioprobe/process.h>

#include "bpf/bpf_side.h"
#include "bpf/programs.h"

struct bpf_side {
	struct programs *programs;
	struct iop_recording *recording;        /* shared with the programs; NULL before they are loaded */
	uint32_t id;
	int ring_fds[MAX_RINGS + IOP_REQUEST_RINGS], rings_err;
	uint64_t missed_before;                 /* runs of programs that were skipped before this recording began */
};

static inline int bpf_side_map(const struct bpf_side *kernel, enum kernel_map map)
{
	return kernel->programs->maps[map];
}

static inline uint32_t bpf_side_slot(const struct bpf_side *kernel)
{
	return kernel->id & IOP_RECORDING_SLOT;
}

static inline struct iop_process_key bpf_side_process_key(const struct bpf_side *kernel, pid_t tgid)
{
	return (struct iop_process_key){ tgid, kernel->id };
}

/* bpf_side_processes.c. Runs an iterator's program over all threads of the system. Returns 0 or -errno. */
int bpf_side_run_iterator(const struct bpf_side *kernel, enum kernel_program program);

/* bpf_side_counts.c. Clears the counters of the slot's previous recording. Returns 0 or -errno. */
int bpf_side_clear_counts(const struct bpf_side *kernel);

#endif
