/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests of threads that wait inside a BPF program for the agent, and the protocol that decides who acts: see bpf/DESIGN.md,
 * "Waiting for the agent".
 */
#ifndef IOPROBE_REQUEST_H
#define IOPROBE_REQUEST_H

#include <ioprobe/record.h>

/* One waiting thread. word is generation << 8 | enum iop_hold_state and changes by compare-and-swap only, so an answer to a request
 * of an earlier generation fails. */
struct iop_hold {
	__u64 word;
	__u64 gave_up_ns;       /* CLOCK_MONOTONIC: when this generation gave up waiting; 0: it did not */
};
#define IOP_MAX_HOLDS 1024      /* a power of two */
#define IOP_HOLD_STATE 0xff
enum iop_hold_state {
	IOP_HOLD_FREE,
	IOP_HOLD_WAITING,       /* the thread may give up: to FREE */
	IOP_HOLD_WRITING,       /* the agent is writing to the thread's stack: it may not give up */
	IOP_HOLD_ANSWERED,      /* the thread continues and frees the entry */
};

struct iop_hold_id {
	__u64 word;             /* of the WAITING state */
	__u64 deadline_ns;      /* CLOCK_MONOTONIC: the thread gives up then */
	__u64 pid_tgid;         /* tgid in the high half */
	__u32 slot;             /* index of its struct iop_hold */
	__u32 reason;           /* enum iop_hold_reason */
};
enum iop_hold_reason {
	IOP_HOLD_NEW_CODE,      /* code was mapped that was not yet inspected */
	IOP_HOLD_DIRECT,        /* probes are needed that were withheld: see the map `withheld` */
};

/* Value of the map `withheld`; after a wait in vain the time (CLOCK_MONOTONIC) at which that began. Then no call waits any more. */
#define IOP_WITHHELD 1

/* Requests probes for code that the process has mapped and has not run before since_ns. */
struct iop_probe_request {
	struct iop_hold_id id;
	__u64 since_ns;
};

#define IOP_MAX_RETURNS 64      /* as many as the kernel nests */
/* Return addresses that an unwinder needs restored. */
struct iop_return_request {
	struct iop_hold_id id;
	__u64 n;                /* used slots */
	struct { __u64 address, value; } slot[IOP_MAX_RETURNS];
};

/* A return address on a thread's stack that a return probe has replaced: found by the guard's iterator (bpf/guard.bpf.c). */
struct iop_replaced_return {
	__u64 pid_tgid;
	__u64 sp;               /* user stack pointer at the thread's last entry into the kernel */
	__u64 address, value;   /* where it was, and what it was */
	__u64 trampoline;       /* page of the address that replaced it */
};
_Static_assert(sizeof(struct iop_replaced_return) == 40, "iop_replaced_return");
_Static_assert(sizeof(struct iop_hold_id) == 32, "iop_hold_id");
_Static_assert(sizeof(struct iop_return_request) == 40 + 16 * IOP_MAX_RETURNS, "iop_return_request");

#endif
