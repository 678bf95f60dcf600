/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens the variant of the BPF object for this kernel.
 */
#ifndef IOPROBE_SKELETON_H
#define IOPROBE_SKELETON_H

struct ioprobe_bpf;

/* Opens the variant for a task work function with this many arguments (feature_task_work_form; 0: none), to be destroyed by
 * ioprobe_bpf__destroy. Returns NULL with errno. */
struct ioprobe_bpf *skeleton_open(unsigned task_work_form);

#endif
