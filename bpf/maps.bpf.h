/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Maps and variables that more than one file uses. The types that the agent shares are in include/ioprobe.
 */
#ifndef IOPROBE_BPF_MAPS_H
#define IOPROBE_BPF_MAPS_H

#include <ioprobe/demand.h>
#include <ioprobe/process.h>
#include <ioprobe/recording.h>

#include "thread.h"

#define KNOWN_FDS IOP_KNOWN_FDS
#define MAX_PROCESSES 8192
#define MAX_SYSCALLS 512
#define NO_SYSCALL_PROBE 0xffff

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOP_MAX_PROBES);
	__type(key, u32);
	__type(value, struct iop_desc);
} descriptors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct process);
} processes SEC(".maps");

/* Processes that the task iterator is to include. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct iop_target);
} targets SEC(".maps");

struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);                 /* set before load: rings of all slots */
	__type(key, u32);
	__array(values, struct ring_map);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOP_MAX_RECORDINGS);
	__type(key, u32);
	__type(value, struct iop_counters);
} counters SEC(".maps");

/* Files whose code the agent has inspected: 1 if nothing more is to be done when another process maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_file_key);
	__type(value, u32);
} looked_at SEC(".maps");

/* By process: descriptor flags (IOP_D_*) of probes that the overhead limit has detached. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, struct iop_process_key);
	__type(value, u32);
} turned_off SEC(".maps");

/* Processes in which no return address is replaced: enum iop_entry_only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_process_key);
	__type(value, u32);
} entry_only SEC(".maps");

/* Processes in which the rows of IOP_INNER_SKIPPED are not probed, because all their calls so far came from the layer above:
 * IOP_WITHHELD, or a time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_process_key);
	__type(value, u64);
} withheld SEC(".maps");

/* By process: constants that its libraries create at run time and that were not yet sent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_process_key);
	__type(value, struct iop_constants);
} constants SEC(".maps");

const volatile __u32 ring_count = 1;            /* rings for records per slot */
const volatile __u32 recording_slots = 1;
const volatile __u32 ring_wakeup_bytes = 1 << 20;
const volatile __u16 syscall_probe[MAX_SYSCALLS];
const volatile __u32 fcntl_nr = 72, mmap_nr = 9;
const volatile __u32 io_setup_nr = 206, io_destroy_nr = 207, io_getevents_nr = 208, io_submit_nr = 209, io_pgetevents_nr = 333;
const volatile __u64 unwind_limit_ns = 2000000000;
const volatile bool hold_at_seal = false;       /* programs are held at system calls: see code_sealed() */
const volatile bool syscalls_traced = true;
const volatile bool typed_loads = true;         /* FEATURE_TYPED_LOADS */
const volatile bool call_sites = false;
const volatile bool returns_optional = false;   /* a program can choose not to take the return probe of a call */
__u32 process_cursor;
__u32 last_image;
__u32 link_ids[32];       /* for the agents: ids of the tracepoint links that are held, by program */
struct iop_recording recordings[IOP_MAX_RECORDINGS];

#endif
