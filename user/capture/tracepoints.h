/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tracepoints that not every kernel has, or that are attached only when asked for: found in the kernel's BTF.
 */
#ifndef IOPROBE_TRACEPOINTS_H
#define IOPROBE_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_link;
struct ioprobe_bpf;

#define MAX_TRACEPOINTS 8
struct tracepoints { struct bpf_link *links[MAX_TRACEPOINTS]; size_t n; };

/* Between open and load: leaves out programs whose tracepoint this kernel has not, and says what its arguments are. */
void tracepoints_choose(struct ioprobe_bpf *skel, bool uring, bool device, bool mmap_faults);

/* Attaches those that were chosen. Returns 0 or -errno with one line in err. */
int tracepoints_attach(struct tracepoints *tracepoints, struct ioprobe_bpf *skel, char *err, size_t err_len);
void tracepoints_detach(struct tracepoints *tracepoints);

#endif
