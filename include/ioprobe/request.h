/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a thread that waits inside a BPF program asks of the agent. Answered through the map `holds`.
 */
#ifndef IOPROBE_REQUEST_H
#define IOPROBE_REQUEST_H

#include <ioprobe/record.h>

#define IOP_MAX_RETURNS 24
struct iop_request {
	__u64 pid_tgid;         /* tgid in the high half: the key in `holds` */
	__u64 n;                /* slots used: return addresses that an unwinder needs back; 0: wants probes */
	struct { __u64 address, value; } slot[IOP_MAX_RETURNS];
};
_Static_assert(sizeof(struct iop_request) == 16 + 16 * IOP_MAX_RETURNS, "iop_request");

#endif
