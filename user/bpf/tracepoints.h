/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tracepoints that not every kernel has, or that are attached only when asked for: found in the kernel's BTF.
 */
#ifndef IOPROBE_TRACEPOINTS_H
#define IOPROBE_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>

struct ioprobe_bpf;

/* Between open and load: leaves out programs whose tracepoint this kernel has not, and says what its arguments are. */
void tracepoints_choose(struct ioprobe_bpf *skel, bool uring, bool device, bool mmap_faults);

/* Whether io_uring's tracepoints say enough; if not, the reason in one line. */
bool tracepoints_have_uring(char *reason, size_t len);

#endif
