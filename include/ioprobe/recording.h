/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State shared by the BPF programs and the recorders: one set of programs serves several recordings, each in a slot of its own.
 */
#ifndef IOPROBE_RECORDING_H
#define IOPROBE_RECORDING_H

#include <ioprobe/job_matcher.h>

/* An id is a slot with a generation above it. Each use of a slot has a new id, so that task and map entries of an ended recording
 * match no running one. 0: none. */
#define IOP_MAX_RECORDINGS 64
#define IOP_RECORDING_SLOT (IOP_MAX_RECORDINGS - 1)

/* Rings of a slot, in the map of all rings: those for records, followed by two for requests of waiting threads (struct
 * iop_probe_request, struct iop_return_request). */
enum iop_request_ring { IOP_RING_PROBES, IOP_RING_RETURNS, IOP_REQUEST_RINGS };

/* Written by the recorder and read by the BPF programs, except where noted. */
struct iop_recording {
	__u32 id;                       /* threads with this id are recorded; 0: slot closed */
	__u32 launch_tgid;              /* process that joins at its next exec; 0: none */
	__u64 hold_limit_ns;            /* longest time that new programs wait for their probes; 0: they do not wait */
	__u64 libraries_for_all;        /* bit per library number: its links for all are in use, links per process are ignored */
	__u64 threads_taken;            /* threads included by the task iterator; written by it */
	/* CLOCK_MONOTONIC, updated every 20 ms by the recorder and its hold server; 0 after it ended */
	__u64 server_beat_ns, recorder_beat_ns;
	__u32 users_rights_only;        /* set-uid and otherwise privileged programs are not recorded */
	__u32 any_turned_off;           /* the map turned_off is in use */
	__u32 any_constants;            /* the map constants is in use */
	__u32 any_entry_only;           /* the map entry_only is in use */
	__u32 all_entry_only;           /* return probes are disabled in all processes */
	__u32 left_id; /* set by the hold server of a recorder that died: it closed the slot, the rings are still in their places */
	__u32 measuring_tgid; /* the recorder's own process, whose calls measure what a call costs; 0: none */
	__u32 any_withheld;             /* the map withheld is in use */
	struct iop_job_matcher job_matcher;
};
_Static_assert(sizeof(struct iop_recording) == 80 + sizeof(struct iop_job_matcher), "iop_recording");

/* A process that the task iterator is to include. */
struct iop_target {
	__u32 recording;
	__u32 taker;                    /* tgid of the recorder: several recorders may run the iterator at once */
	__u32 process;                  /* its slot, once it has one */
};

/* Operations of the BPF program measure_record. Its context is four 64-bit words: the operation; with IOP_MEASURE_RECORDS a
 * descriptor's number, the number of records (up to IOP_MEASURE_MAX), and a readable address for pointer arguments. */
enum iop_measure {
	IOP_MEASURE_RECORDS,            /* send records of returning calls: returns the nanoseconds that it took, 0: not measured */
	IOP_MEASURE_HIDE_SITES,         /* no site is looked for: returns the image of its code, 0 if there are no sites */
	IOP_MEASURE_SHOW_SITES,         /* its calls have sites again: the second word is what the former returned */
	IOP_MEASURE_SITE_FOUND,         /* returns whether the walk for its last call's site was complete */
};
#define IOP_MEASURE_MAX 64
#define IOP_MEASURE_WORDS 4

/* Key of maps indexed by process. */
struct iop_process_key { __u32 tgid, recording; };

#endif
