/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Measures the cost of a probe hit on this machine, on functions of our own.
 */
#ifndef IOPROBE_CALIBRATE_H
#define IOPROBE_CALIBRATE_H

#include "bpf/hold_server.h"
#include "bpf/bpf_side.h"
#include "bpf/links.h"
#include "proc/procfs.h"

struct probe_cost { uint64_t emulated_ns, single_stepped_ns; }; /* per trap: a call has one at entry and one at return */

/* Takes a few milliseconds; afterwards the kernel needs about a hundred to remove the probes, asynchronously. Returns 0 or -errno
 * (no library probes on this kernel). */
int calibrate_probe_cost(const struct bpf_side *kernel, struct hold_server *server, struct probe_cost *cost);

/* The file offset of one of our own instructions. Returns 0 or -ENOENT. */
int calibrate_own_offset(const struct proc_modules *modules, const void *function, uint64_t *offset);

#endif
