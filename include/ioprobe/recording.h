/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What BPF programs and recorders share of a recording: one set of programs serves several, each in a slot of its own.
 */
#ifndef IOPROBE_RECORDING_H
#define IOPROBE_RECORDING_H

#include <ioprobe/awaited.h>

/* An id is a slot and, above it, a generation: each use of a slot has a new id, so that what an ended recording left in tasks and
 * maps matches none that runs. 0: none. */
#define IOP_MAX_RECORDINGS 64
#define IOP_RECORDING_SLOT (IOP_MAX_RECORDINGS - 1)

/* Rings of a slot, in the map of all rings: those for records, and behind them two for requests of waiting threads: of
 * struct iop_probe_request and struct iop_return_request. */
enum iop_request_ring { IOP_RING_PROBES, IOP_RING_RETURNS, IOP_REQUEST_RINGS };

/* Written by the recorder, read by the programs, except where it says otherwise. */
struct iop_recording {
	__u32 id;                       /* threads with this id are recorded; 0: the slot is closed */
	__u32 launch_tgid;              /* joins at its next exec; 0: none */
	__u64 hold_limit_ns;            /* new programs wait so long for their probes at most, 0: not at all */
	__u64 libraries_for_all;        /* bit per number: links for all count, and those of a process' own no more */
	__u64 threads_taken;            /* by the task iterator; written by it */
	__u64 server_beat_ns, recorder_beat_ns; /* CLOCK_MONOTONIC, every 20 ms, by the recorder and its hold server: 0 when it ended */
	__u32 users_rights_only;        /* does not follow a user into setuid programs and the like */
	__u32 any_turned_off;           /* the map turned_off was used */
	__u32 any_constants;            /* so was constants */
	__u32 any_entry_only;           /* so was entry_only */
	__u32 all_entry_only;           /* no process has return probes any more */
	__u32 pad;
	struct iop_awaited awaited;
};
_Static_assert(sizeof(struct iop_recording) == 72 + sizeof(struct iop_awaited), "iop_recording");

/* A process that the task iterator is to include. */
struct iop_target {
	__u32 recording;
	__u32 taker;                    /* tgid of the recorder: several may run the iterator at once */
	__u32 process;                  /* its slot, once it has one */
};

/* Keys of maps by process. */
struct iop_process_key { __u32 tgid, recording; };

#endif
