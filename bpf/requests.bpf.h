/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests of non-blocking operations. A request is remembered when the call that makes it returns. A call that waits or tests is
 * recorded only if it is given such a request, so that waiting for messages costs a look-up and no record.
 */
#ifndef IOPROBE_BPF_REQUESTS_H
#define IOPROBE_BPF_REQUESTS_H

#include "calls.bpf.h"

#define REQUESTS_LOOKED_AT 512  /* inspected elements of a request array */
#define REQUESTS_TAKEN 256      /* tracked requests among them: those of operations on files */
#define REQUESTS_PER_RECORD 128
#define CHUNK 16                /* loops over requests are loops over chunks: the verifier checks the body for a chunk once */
#define STILL_IN_PROGRESS 115   /* EINPROGRESS, from aio_error */

/* Outstanding requests: made, and no wait or test on them observed yet. The value is the time of the record of the call that made
 * it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 17);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_request_key);
	__type(value, u64);
} requests SEC(".maps");

/* Processes that have, or have requested, probes on waits and tests. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, struct iop_process_key);
	__type(value, struct iop_demand);
} demands SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOP_MAX_PROBES);
	__type(key, u32);
	__type(value, struct iop_request_desc);
} request_descriptors SEC(".maps");

/* The requests that a thread waits for. A request is removed from the map during the wait: its value may be reused for a new
 * request before the wait returns. */
struct wait_list {
	u64 sp;                         /* of the call; 0: not waiting */
	u64 since_ns;                   /* requests older than this are ignored */
	u32 depth, n, beyond, width, filter;
	struct iop_process_key process;
	u64 array;
	u64 chunk[CHUNK];
	u64 value[REQUESTS_TAKEN], issued_ns[REQUESTS_TAKEN];
	u16 index[REQUESTS_TAKEN];      /* in the array */
	u16 status[REQUESTS_TAKEN];     /* index of its status */
	u16 place[REQUESTS_LOOKED_AT];  /* from index in the array to index here, where index[] confirms it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_list);
} wait_lists SEC(".maps");

static __always_inline struct iop_demand *demand_here(struct thread *t)
{
	struct iop_process_key key = process_key(t);

	return bpf_map_lookup_elem(&demands, &key);
}

/* ---- at the entry of any call of such a layer ---- */

/* The first call of a process requests the probes. */
__noinline int demand_probes(struct thread *t, u64 now)
{
	struct iop_demand none = { 0 };
	struct iop_process_key key;
	struct iop_rec *rec;

	if (!t)
		return 0;
	key = process_key(t);
	if (bpf_map_lookup_elem(&demands, &key) || bpf_map_update_elem(&demands, &key, &none, BPF_NOEXIST))
		return 0;
	rec = (void *)t->scratch;
	rec_header(rec, t, IOP_REC_DEMAND, 0, sizeof(*rec), now);
	send_record(t, rec, sizeof(*rec), true);
	return 0;
}

/* ---- at the return of a call that makes a request ---- */

static __always_inline u64 read_request(u64 address, u32 width)
{
	u64 value = 0;
	u32 narrow = 0;

	if (width == sizeof(narrow)) {
		bpf_probe_read_user(&narrow, sizeof(narrow), (void *)address);
		return narrow;
	}
	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* A request that is made before the probes on waits are in place would never be seen to complete: it is counted and not tracked. */
__noinline int request_made(struct thread *t, struct frame *f, u32 id, u32 narrow, u64 now)
{
	struct iop_request_desc *desc = bpf_map_lookup_elem(&request_descriptors, &id);
	struct iop_demand *demand = t ? demand_here(t) : 0;
	struct iop_request_key key = { 0 };
	u32 arg;

	if (!t || !f || !desc || !demand)
		return 0;
	if (!demand->since_ns) {
		__sync_fetch_and_add(&demand->missed, 1);
		return 0;
	}
	arg = desc->requests & (IOP_MAX_ARGS - 1);
	key.process = process_key(t);
	key.value = read_request(f->args[arg], narrow ? 4 : desc->width);
	if (!bpf_map_update_elem(&requests, &key, &now, BPF_NOEXIST))
		__sync_fetch_and_add(&demand->outstanding, 1);
	else if (bpf_map_update_elem(&requests, &key, &now, BPF_EXIST))  /* the completion of the older request was not seen */
		__sync_fetch_and_add(&demand->missed, 1);
	return 0;
}

/* ---- at the entry of a wait ---- */

/* Takes this request out of the map if it is tracked. */
__noinline int take_request(struct wait_list *w, u64 value, u32 index)
{
	struct iop_request_key key = { .value = value };
	u64 *issued, issued_ns = 0;
	u32 n;

	if (!w || index >= REQUESTS_LOOKED_AT)
		return 0;
	key.process = w->process;
	if (w->filter) {
		issued = bpf_map_lookup_elem(&requests, &key);
		if (!issued || *issued < w->since_ns)
			return 0;
		issued_ns = *issued;
	}
	n = w->n;
	if (n >= REQUESTS_TAKEN) {
		w->beyond++;
		return 0;
	}
	barrier_var(n);
	barrier_var(index);
	if (w->filter)
		bpf_map_delete_elem(&requests, &key);
	w->value[n] = value;
	w->issued_ns[n] = issued_ns;
	w->index[n] = index;
	w->status[n] = index;
	w->place[index] = n;
	w->n = n + 1;
	return 0;
}

/* Returns the request at this index of the chunk. */
static __always_inline u64 chunk_value(struct wait_list *w, u32 i)
{
	i &= CHUNK - 1;
	return w->width == 4 ? ((u32 *)w->chunk)[i] : w->chunk[i];
}

__noinline int take_chunk(struct wait_list *w, u32 first, u32 count)
{
	u32 n = count - first < CHUNK ? count - first : CHUNK;
	u64 size;

	if (!w)
		return 0;
	size = n * (w->width == 4 ? 4 : 8);
	if (!size)
		return 0;
	barrier_var(size);
	if (size > sizeof(w->chunk))
		return 0;
	if (bpf_probe_read_user(w->chunk, size, (void *)(w->array + first * (u64)w->width)))
		return 0;
	for (u32 i = 0; i < CHUNK; i++) {
		if (i >= n)
			break;
		take_request(w, chunk_value(w, i), first + i);
	}
	return 0;
}

__noinline int take_array(struct wait_list *w, s32 count)
{
	if (!w)
		return 0;
	for (u32 first = 0; first < REQUESTS_LOOKED_AT; first += CHUNK) {
		if ((s32)first >= count)
			break;
		take_chunk(w, first, count);
	}
	if (count > REQUESTS_LOOKED_AT)
		w->beyond += count - REQUESTS_LOOKED_AT;
	return 0;
}

/* The integer arguments are in scratch. None of these functions has more than six. */
static __always_inline u64 argument_of(struct thread *t, const struct iop_desc *desc, u8 arg)
{
	u32 source = desc->arg[arg & (IOP_MAX_ARGS - 1)].source;

	return source < 6 ? ((u64 *)t->scratch)[source] : 0;
}

/* Returns whether the list belongs to an outer wait that called back into the program: the inner wait is not tracked. */
static __always_inline bool is_waiting(struct thread *t, struct wait_list *w)
{
	struct frame *f = frame_at(t, w->depth);

	return w->sp && w->depth < t->depth && f && f->sp == w->sp;
}

/* Returns whether the call is to be recorded. Its integer arguments are in scratch. */
__noinline int take_requests(struct thread *t, u32 id, u32 narrow, u64 sp)
{
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);
	struct iop_desc *desc = bpf_map_lookup_elem(&descriptors, &id);
	struct iop_demand *demand = t ? demand_here(t) : 0;
	struct wait_list *w;

	if (!t || !rd || !desc)
		return 0;
	if ((desc->requests & IOP_R_FILTER) && (!demand || !demand->since_ns))
		return 0;
	w = bpf_task_storage_get(&wait_lists, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w || is_waiting(t, w)) {
		COUNT(t->recording, waits_not_followed, 1);
		return 0;
	}
	w->n = w->beyond = 0;
	w->width = narrow ? 4 : rd->width;
	w->filter = desc->requests & IOP_R_FILTER;
	w->process = process_key(t);
	w->since_ns = demand ? demand->since_ns : 0;
	w->sp = sp;
	w->depth = t->depth;
	if (rd->requests == IOP_NO_ARG) {
		take_request(w, argument_of(t, desc, rd->request), 0);
	} else {
		w->array = argument_of(t, desc, rd->requests);
		if (rd->count == IOP_NO_ARG)
			take_request(w, read_request(w->array, w->width), 0);
		else
			take_array(w, argument_of(t, desc, rd->count));
	}
	if (w->n || !w->filter || !demand)
		return 1;
	__sync_fetch_and_add(&demand->idle, 1);
	return w->beyond && demand->outstanding > 0;
}

/* ---- at the return of a wait ---- */

/* Maps statuses to requests where only completed requests have one. */
__noinline int place_status(struct wait_list *w, u64 indices, u32 k)
{
	s32 index = -1;
	u32 at;

	if (!w || bpf_probe_read_user(&index, sizeof(index), (void *)(indices + 4ull * k)) || (u32)index >= REQUESTS_LOOKED_AT)
		return 0;
	at = index;
	barrier_var(at);
	if (at >= REQUESTS_LOOKED_AT)
		return 0;
	at = w->place[at];
	if (at >= REQUESTS_TAKEN || at >= w->n || w->index[at] != index)
		return 0;
	barrier_var(at);
	if (at < REQUESTS_TAKEN)
		w->status[at] = k;
	return 0;
}

__noinline int place_chunk(struct wait_list *w, u64 indices, u32 first, u32 n)
{
	for (u32 i = 0; i < CHUNK; i++) {
		if (first + i >= n)
			break;
		place_status(w, indices, first + i);
	}
	return 0;
}

__noinline int place_statuses(struct wait_list *w, u64 indices, u64 outcount)
{
	s32 n = 0;

	if (bpf_probe_read_user(&n, sizeof(n), (void *)outcount))
		return 0;
	for (u32 first = 0; first < REQUESTS_LOOKED_AT; first += CHUNK) {
		if ((s32)first >= n)
			break;
		place_chunk(w, indices, first, n);
	}
	return 0;
}

static __always_inline u64 arg_of(struct frame *f, u8 arg)
{
	return arg < IOP_MAX_ARGS ? f->args[arg] : 0;
}

/* A call either removes a completed request from the program (the value changes) or sets a flag. */
__noinline bool is_done(struct frame *f, struct wait_list *w, const struct iop_request_desc *rd, u32 at)
{
	s32 flag = 0;

	if (!f || !w || !rd || at >= REQUESTS_TAKEN)
		return false;
	if (rd->done != IOP_NO_ARG) {
		bpf_probe_read_user(&flag, sizeof(flag), (void *)arg_of(f, rd->done));
		return flag;
	}
	return read_request(w->array + (u64)w->index[at] * w->width, w->width) != w->value[at];
}

static __always_inline void read_status(struct frame *f, struct wait_list *w, const struct iop_request_desc *rd, u32 at,
					struct iop_request_state *state)
{
	bool narrow = w->width == 4 && rd->narrow_status_size;
	u64 status = arg_of(f, rd->status), size = narrow ? rd->narrow_status_size : rd->status_size;
	u64 bytes_at = narrow ? 0 : rd->status_bytes, cancelled_at = narrow ? rd->narrow_status_cancelled : rd->status_cancelled;

	if (rd->many)
		status = status ? status + (u64)w->status[at] * size : 0;
	if (!status || !size)
		return;
	if (!bpf_probe_read_user(&state->bytes, sizeof(state->bytes), (void *)(status + bytes_at)) &&
	    !bpf_probe_read_user(&state->cancelled, sizeof(state->cancelled), (void *)(status + cancelled_at)))
		state->state |= IOP_REQUEST_STATUS;
}

/* Puts a request that has not completed back into the map, unless its value was reused meanwhile: then it has completed. */
__noinline int put_back(struct wait_list *w, u32 at)
{
	struct iop_request_key key = { 0 };
	u64 issued_ns;

	if (!w || at >= REQUESTS_TAKEN)
		return 0;
	key.value = w->value[at];
	key.process = w->process;
	issued_ns = w->issued_ns[at];
	if (w->filter)
		bpf_map_update_elem(&requests, &key, &issued_ns, BPF_NOEXIST);
	return 0;
}

/* ---- tests: only the first of those with the same result ---- */

/* Result of a thread's last test of a request. An entry that was evicted costs one more record. */
struct test_key { u64 request; u32 tid, probe; u64 recording; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct test_key);
	__type(value, u64);
} tests SEC(".maps");

static __always_inline bool is_same_as_before(struct thread *t, u64 request, u32 probe, u64 outcome)
{
	struct test_key key = { .request = request, .tid = bpf_get_current_pid_tgid(), .probe = probe, .recording = t->recording };
	u64 *before = bpf_map_lookup_elem(&tests, &key);

	if (before && *before == outcome)
		return true;
	bpf_map_update_elem(&tests, &key, &outcome, BPF_ANY);
	return false;
}

__noinline int any_done_in_chunk(struct frame *f, struct wait_list *w, const struct iop_request_desc *rd, u32 first)
{
	for (u32 i = 0; i < CHUNK; i++) {
		if (!w || first + i >= w->n)
			break;
		if (is_done(f, w, rd, first + i))
			return 1;
	}
	return 0;
}

__noinline int any_done(struct frame *f, struct wait_list *w, u32 id)
{
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);

	for (u32 first = 0; first < REQUESTS_TAKEN; first += CHUNK) {
		if (!f || !w || !rd || first >= w->n)
			break;
		if (any_done_in_chunk(f, w, rd, first))
			return 1;
	}
	return 0;
}

__noinline int put_chunk_back(struct wait_list *w, u32 first)
{
	for (u32 i = 0; i < CHUNK; i++) {
		if (!w || first + i >= w->n)
			break;
		put_back(w, first + i);
	}
	return 0;
}

__noinline int put_all_back(struct wait_list *w)
{
	for (u32 first = 0; first < REQUESTS_TAKEN; first += CHUNK) {
		if (!w || first >= w->n)
			break;
		put_chunk_back(w, first);
	}
	return 0;
}

/* Returns whether nothing has changed since the last test of the same requests by this thread: then the call is done and not
 * recorded. A single request is identified only by its address, which the next operation may reuse, so each completion is
 * recorded. */
__noinline int test_repeats(struct thread *t, struct frame *f, u32 id, u32 takes, u64 ret)
{
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);
	struct wait_list *w;

	if (!t || !f)
		return 0;
	if (!takes)
		return is_same_as_before(t, f->args[0], id, ret) && (s32)ret == STILL_IN_PROGRESS;
	w = bpf_task_storage_get(&wait_lists, bpf_get_current_task_btf(), 0, 0);
	if (!w || !rd || w->sp != f->sp || !w->n || w->beyond || any_done(f, w, id))
		return 0;
	if (!is_same_as_before(t, w->value[0] ^ w->issued_ns[0], id, (u64)w->n << 32 | (u32)ret))
		return 0;
	put_all_back(w);
	w->sp = 0;
	return 1;
}

/* Stores the state of the request at this index of the list in the record. */
__noinline int finish_request(struct thread *t, struct frame *f, struct wait_list *w, u32 id, u32 at)
{
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);
	struct iop_rec_requests *rec;
	struct iop_request_state *state;
	struct iop_demand *demand;
	u32 n;

	if (!t || !f || !w || !rd || at >= REQUESTS_TAKEN)
		return 0;
	barrier_var(at);
	rec = (void *)t->scratch;
	n = rec->n;
	if (n >= REQUESTS_PER_RECORD)
		return 0;
	barrier_var(n);
	state = &rec->v[n];
	state->request = w->value[at];
	state->issued_ns = w->issued_ns[at];
	state->bytes = 0;
	state->cancelled = 0;
	state->state = is_done(f, w, rd, at) ? IOP_REQUEST_DONE : 0;
	rec->n = n + 1;
	if (!state->state) {
		put_back(w, at);
		return 0;
	}
	read_status(f, w, rd, at, state);
	demand = demand_here(t);
	if (w->filter && demand)
		__sync_fetch_and_add(&demand->outstanding, -1);
	return 0;
}

__noinline int send_requests(struct thread *t, struct frame *f, u32 type, u32 beyond, u64 now)
{
	struct iop_rec_requests *rec;
	u32 n, len;

	if (!t || !f)
		return 0;
	rec = (void *)t->scratch;
	n = rec->n;
	if (n > REQUESTS_PER_RECORD)
		return 0;
	len = sizeof(*rec) + n * sizeof(rec->v[0]);
	rec->enter_ns = f->enter_ns;
	rec->probe = f->probe;
	rec->beyond = beyond;
	rec_header(&rec->rec, t, type, 0, len, now);
	send_record(t, rec, len, false);
	rec->n = 0;
	return 0;
}

/* After an array that was too long it is unknown which requests are still outstanding: all that were made before are dropped. */
static __always_inline void forget_requests(struct thread *t, u64 now)
{
	struct iop_demand *demand = demand_here(t);

	if (!demand || !demand->since_ns)
		return;
	demand->since_ns = now;
	demand->outstanding = 0;
}

__noinline int finish_chunk(struct thread *t, struct frame *f, struct wait_list *w, u32 id, u32 first)
{
	for (u32 i = 0; i < CHUNK; i++) {
		if (!w || first + i >= w->n)
			break;
		finish_request(t, f, w, id, first + i);
	}
	return 0;
}

/* Returns whether the record is full when this chunk of n requests has been added. */
static __always_inline bool ends_record(u32 first, u32 n)
{
	return !((first + CHUNK) % REQUESTS_PER_RECORD) && n >= first + CHUNK;
}

/* Sends the state of the requests before the record of the call itself. */
__noinline int finish_requests(struct thread *t, struct frame *f, u32 id, u64 now)
{
	struct wait_list *w = bpf_task_storage_get(&wait_lists, bpf_get_current_task_btf(), 0, 0);
	struct iop_request_desc *rd = bpf_map_lookup_elem(&request_descriptors, &id);

	if (!t || !f || !w || !rd || w->sp != f->sp)
		return 0;
	if (rd->indices != IOP_NO_ARG)
		place_statuses(w, arg_of(f, rd->indices), arg_of(f, rd->outcount));
	((struct iop_rec_requests *)t->scratch)->n = 0;
	for (u32 first = 0; first < REQUESTS_TAKEN; first += CHUNK) {
		if (first >= w->n)
			break;
		finish_chunk(t, f, w, id, first);
		if (ends_record(first, w->n))
			send_requests(t, f, IOP_REC_REQUESTS, 0, now);
	}
	if (((struct iop_rec_requests *)t->scratch)->n || w->beyond)
		send_requests(t, f, IOP_REC_REQUESTS, w->beyond, now);
	if (w->beyond && w->filter)
		forget_requests(t, now);
	w->sp = 0;
	return 0;
}

#endif
