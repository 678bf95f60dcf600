/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Filters: excludes calls before a record is built for them, and counts them. The options are constants to the verifier: without
 * filters it removes this code.
 */
#ifndef IOPROBE_BPF_FILTER_H
#define IOPROBE_BPF_FILTER_H

#include "emit.bpf.h"

const volatile bool filter_files = false;       /* any of the next four is set */
const volatile bool filter_wants_paths = false; /* path_filters has an entry that is not an exclusion */
const volatile __u32 filter_kinds = 0xffff;     /* bit i_mode >> 12 */
const volatile __u32 path_filter_count = 0;
const volatile struct iop_path_filter path_filters[IOP_MAX_PATH_FILTERS];
const volatile bool filter_calls = false;       /* any of the next three is set */
const volatile __u64 filter_min_ns = 0, filter_min_bytes = 0;
const volatile bool filter_streams = false;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOP_FILTERS);       /* set before load: for each slot, and within it for each layer */
	__type(key, u32);
	__type(value, struct iop_excluded);
} excluded SEC(".maps");

const volatile __u32 excluded_layers = 1;       /* number of layers in a slot */

/* The same by process. Each call is counted in one of the two: here, unless there is no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, IOP_MAX_EXCLUDED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_excluded_key);
	__type(value, struct iop_excluded);
} excluded_of SEC(".maps");

/* ---- counting ---- */

#define BYTES_UNKNOWN (-1)

/* Returns the bytes that a returned call moved. */
static __always_inline s64 moved_bytes(struct frame *f, const struct iop_desc *desc, s64 ret)
{
	u32 size_arg = desc->moved >> IOP_MOVED_SIZE_SHIFT & (IOP_MAX_ARGS - 1);

	if (desc->moved & IOP_MOVED_INT)
		ret = (s32)ret;
	switch (desc->moved & IOP_MOVED_HOW) {
	case IOP_MOVED_BYTES: return ret > 0 ? ret : 0;
	case IOP_MOVED_ITEMS: return ret * f->args[size_arg];
	case IOP_MOVED_CHAR: return (s32)ret != -1;
	default: return BYTES_UNKNOWN;
	}
}

/* The first call of a process that a filter excludes. */
__noinline int excluded_add(u32 recording, u32 layer, u32 filter)
{
	struct iop_excluded_key key = { recording, bpf_get_current_pid_tgid() >> 32, layer, filter };
	struct iop_excluded none = { 0 };

	return bpf_map_update_elem(&excluded_of, &key, &none, BPF_NOEXIST);
}

/* Of the current process. */
static __always_inline struct iop_excluded *excluded_counts(u32 slot, u32 layer, u32 filter)
{
	u32 id = recordings[slot & IOP_RECORDING_SLOT].id, index = (slot * excluded_layers + layer) * IOP_FILTERS + filter;
	struct iop_excluded_key key = { id, bpf_get_current_pid_tgid() >> 32, layer, filter };
	struct iop_excluded *counts = bpf_map_lookup_elem(&excluded_of, &key);

	if (counts)
		return counts;
	excluded_add(id, layer, filter);
	counts = bpf_map_lookup_elem(&excluded_of, &key);
	return counts ? counts : bpf_map_lookup_elem(&excluded, &index);
}

/* Atomic: a program may be preempted by another one on its CPU. */
__noinline int count_excluded(struct frame *f, const struct iop_desc *desc, u32 filter, s64 ret, u64 now)
{
	struct iop_excluded *counts = f && desc ? excluded_counts(f->slot, desc->layer, filter) : 0;
	s64 bytes;

	if (!counts || !f || !desc)
		return 0;
	bytes = moved_bytes(f, desc, ret);
	__sync_fetch_and_add(&counts->calls, 1);
	__sync_fetch_and_add(&counts->time_ns, now - f->enter_ns);
	if (bytes == BYTES_UNKNOWN && (desc->moved & (IOP_MOVED_READ | IOP_MOVED_WRITE)))
		__sync_fetch_and_add(&counts->unknown, 1);
	if (bytes > 0 && (desc->moved & IOP_MOVED_READ))
		__sync_fetch_and_add(&counts->read_bytes, bytes);
	if (bytes > 0 && (desc->moved & IOP_MOVED_WRITE))
		__sync_fetch_and_add(&counts->written_bytes, bytes);
	return 0;
}

/* Counts a filtered call that never returned. */
__noinline int count_abandoned(struct frame *f, u64 now)
{
	struct iop_excluded *counts;
	struct iop_desc *desc;
	u32 id;

	if (!f)
		return 0;
	id = f->probe;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	counts = desc ? excluded_counts(f->slot, desc->layer, f->flags & FRAME_TEST ? IOP_FILTER_REPEATED : IOP_FILTER_FILE) : 0;
	if (counts) {
		__sync_fetch_and_add(&counts->calls, 1);
		__sync_fetch_and_add(&counts->time_ns, now - f->enter_ns);
	}
	return 0;
}

/* ---- by duration and size ---- */

/* For a call without children. Calls known to have failed are always recorded. */
static __always_inline bool call_excluded(struct frame *f, const struct iop_desc *desc, s64 ret, u64 now)
{
	s64 bytes;

	if (!(desc->flags & IOP_D_DATA))
		return false;
	if (filter_streams && (desc->flags & (IOP_D_STREAM_DATA | IOP_D_STREAM_BYTES))) {
		count_excluded(f, desc, IOP_FILTER_STREAMS, ret, now);
		return true;
	}
	if ((desc->moved & IOP_MOVED_HOW) == IOP_MOVED_BYTES && (desc->moved & IOP_MOVED_INT ? (s32)ret < 0 : ret < 0))
		return false;
	if (now - f->enter_ns < filter_min_ns) {
		count_excluded(f, desc, IOP_FILTER_DURATION, ret, now);
		return true;
	}
	bytes = moved_bytes(f, desc, ret);
	if (bytes == BYTES_UNKNOWN || bytes >= filter_min_bytes)
		return false;
	count_excluded(f, desc, IOP_FILTER_BYTES, ret, now);
	return true;
}

/* Of calls whose return is not observed only stream calls are filtered: duration, size and result of the others are unknown. */
__noinline int unseen_excluded(struct thread *t, const struct iop_desc *desc)
{
	struct iop_excluded *counts;

	if (!t || !desc || !filter_streams || !(desc->flags & IOP_D_DATA) ||
	    !(desc->flags & (IOP_D_STREAM_DATA | IOP_D_STREAM_BYTES)))
		return 0;
	counts = excluded_counts(slot_of(t), desc->layer, IOP_FILTER_STREAMS);
	if (counts) {
		__sync_fetch_and_add(&counts->calls, 1);
		__sync_fetch_and_add(&counts->unknown, 1);
	}
	return 1;
}

/* ---- by file ---- */

/* Returns whether the path in scratch, leaf first, is under this prefix: it ends with the prefix, at a component boundary. */
__noinline int path_is_under(struct thread *t, u32 used, u32 i)
{
	u32 len, at;

	if (!t || i >= IOP_MAX_PATH_FILTERS)
		return 0;
	len = path_filters[i].len;
	if (len > used || used > PATH_ROOM + 256 || len > IOP_PATH_FILTER_LEN)
		return 0;
	at = sizeof(struct iop_rec_fd) + used - len;
	if (len < used && at > 0 && at < sizeof(t->scratch)) {
		u32 before = at - 1;

		barrier_var(before);
		if (before >= sizeof(t->scratch) || t->scratch[before])
			return 0;
	}
	for (u32 k = 0; k < IOP_PATH_FILTER_LEN; k++) {
		u32 from = at + k;

		if (k >= len)
			break;
		barrier_var(from);
		if (from >= sizeof(t->scratch) || t->scratch[from] != (u8)path_filters[i].tail[k])
			return 0;
	}
	return 1;
}

/* A truncated path passes the filter: its root is unknown. */
__noinline int is_wanted(struct thread *t, u32 i_mode, u32 path_len, u32 state)
{
	bool wanted = !filter_wants_paths || (state & IOP_FD_TRUNCATED);

	if (!(filter_kinds >> (i_mode >> 12 & 15) & 1))
		return 0;
	for (u32 i = 0; i < IOP_MAX_PATH_FILTERS && i < path_filter_count; i++) {
		if (!path_is_under(t, path_len, i))
			continue;
		if (path_filters[i].exclude)
			return 0;
		wanted = true;
	}
	return wanted;
}

#endif
