/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The BPF object in the form that this kernel takes.
 */
#ifndef IOPROBE_SKELETON_H
#define IOPROBE_SKELETON_H

struct ioprobe_bpf;

/* Opens the form for a task work function of this many arguments (feature_task_work_form; 0: none), to be destroyed with
 * ioprobe_bpf__destroy. Returns NULL with errno. */
struct ioprobe_bpf *skeleton_open(unsigned task_work_form);

#endif
