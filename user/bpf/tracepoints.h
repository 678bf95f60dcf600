/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Tracepoints that not every kernel has, or that are attached only on request: looked up in the kernel's BTF.
 */
#ifndef IOPROBE_TRACEPOINTS_H
#define IOPROBE_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>

struct ioprobe_bpf;

/* Between open and load: disables programs whose tracepoint does not exist, and sets the layout of the arguments. */
void tracepoints_choose(struct ioprobe_bpf *skel, bool uring, bool switches, bool mmap_faults);

/* Returns whether io_uring's tracepoints pass enough information; if not, with the reason in one line. */
bool tracepoints_have_uring(char *reason, size_t len);

#endif
