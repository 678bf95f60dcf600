/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a probe hit costs on this machine, measured on functions of our own.
 */
#ifndef IOPROBE_CALIBRATE_H
#define IOPROBE_CALIBRATE_H

#include "bpf/hold_server.h"
#include "bpf/kernel_side.h"
#include "bpf/links.h"

struct probe_cost { uint64_t emulated_ns, single_stepped_ns; }; /* of one trap: a call has one at entry and one at return */

/* Takes a few milliseconds; the kernel takes a hundred to remove the probes, in its workers. Returns 0 or -errno
 * (no library probes on this kernel). */
int calibrate_probe_cost(const struct kernel_side *kernel, struct hold_server *server, struct probe_cost *cost);

#endif
