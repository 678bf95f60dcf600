/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libaio. Submissions are read from io_submit's array. Completions are read from the context's event ring, which programs may empty
 * without a system call: each look claims the events between the last claimed one and the ring's head. No event is overwritten
 * unseen, since only io_submit can bring more operations into the ring than it has room for, and it looks first.
 */
#ifndef IOPROBE_BPF_AIO_H
#define IOPROBE_BPF_AIO_H

#include "async.bpf.h"

#define AIO_RING_MAGIC 0xa10a10a1
#define AIO_SUBMIT_MAX 65536

/* The kernel's ABI: linux/aio_abi.h, and the head of the ring that it maps to a context's address. */
struct user_iocb {
	u64 data;
	u32 key, rw_flags;
	u16 opcode;
	u16 priority;
	u32 fd;
	u64 buf, nbytes;
	s64 offset;
	u64 reserved;
	u32 flags, resfd;
};
struct user_io_event { u64 data, obj; s64 res, res2; };
struct user_aio_ring { u32 id, nr, head, tail, magic, compat, incompat, header_length; };

/* claimed: number of events since the context was created. known: false for a context that was created before the recording, until
 * its ring can be read. */
struct aio_context_key { u64 process, context; };
struct aio_context { u64 claimed; u32 known, pad; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct aio_context_key);
	__type(value, struct aio_context);
} aio_contexts SEC(".maps");

/* State of a walk over events or iocbs. */
struct aio_walk { struct thread *t; u64 context, address, from, nr, now; };

static __always_inline struct aio_context_key aio_key(struct thread *t, u64 context)
{
	return (struct aio_context_key){ .process = t ? process_number(t) : 0, .context = context };
}

/* ---- completions ---- */

__noinline int aio_event(struct thread *t, u64 context, u64 address, u64 now)
{
	struct iop_rec_async_end *rec;
	struct user_io_event event;

	if (!t || bpf_probe_read_user(&event, sizeof(event), (void *)address))
		return 1;
	rec = async_end(t, IOP_LIBAIO, now);
	rec->key = event.obj;
	rec->context = context;
	rec->user_data = event.data;
	rec->res = event.res;
	send_async_end(t, rec);
	return 0;
}

static long aio_event_step(u32 i, void *data)
{
	struct aio_walk *walk = data;
	u64 place = walk->from + i;

	if (walk->nr)
		place %= walk->nr;
	aio_event(walk->t, walk->context, walk->address + place * sizeof(struct user_io_event), walk->now);
	return 0;
}

/* Sends the events that have left the ring since the last look. Returns whether the ring can be read: its page is in the process'
 * page table only if the program itself has touched it. */
__noinline int aio_look(struct thread *t, u64 context, u64 now)
{
	struct aio_context_key key = aio_key(t, context);
	struct aio_context *known = bpf_map_lookup_elem(&aio_contexts, &key), fresh = { 0 };
	struct aio_walk walk = { .t = t, .context = context, .address = context + sizeof(struct user_aio_ring), .now = now };
	struct user_aio_ring ring;
	u64 claimed, count;

	if (!t || bpf_probe_read_user(&ring, sizeof(ring), (void *)context) || ring.magic != AIO_RING_MAGIC || !ring.nr)
		return 0;
	if (!known) {
		fresh.claimed = ring.head;
		fresh.known = 1;
		bpf_map_update_elem(&aio_contexts, &key, &fresh, BPF_NOEXIST);
		return 1;
	}
	claimed = known->claimed;
	if (!known->known) {
		known->claimed = ring.head;
		known->known = 1;
		return 1;
	}
	walk.nr = ring.nr;
	walk.from = claimed % ring.nr;
	count = (ring.head % ring.nr + ring.nr - walk.from) % ring.nr;
	if (count)
		announce_call(t, now);
	if (count && __sync_val_compare_and_swap(&known->claimed, claimed, claimed + count) == claimed)
		bpf_loop(count, aio_event_step, &walk, 0);
	return 1;
}

/* A ring that the program never touched, which aio_look cannot read, is emptied by system calls only: their results are
 * complete. */
__noinline int aio_reaped(struct thread *t, u64 context, u64 events, s64 count, u64 now)
{
	struct aio_context_key key = aio_key(t, context);
	struct aio_walk walk = { .t = t, .context = context, .address = events, .now = now };
	struct aio_context *known, fresh = { 0 };

	if (!t)
		return 0;
	known = bpf_map_lookup_elem(&aio_contexts, &key);
	if (known)
		__sync_fetch_and_add(&known->claimed, count);
	else
		bpf_map_update_elem(&aio_contexts, &key, &fresh, BPF_NOEXIST);
	announce_call(t, now);
	bpf_loop(count, aio_event_step, &walk, 0);
	return 0;
}

/* ---- submissions ---- */

static __always_inline u8 aio_op(u16 opcode)
{
	switch (opcode) {
	case 0: case 7: return IOP_ASYNC_READ;          /* IOCB_CMD_PREAD, PREADV */
	case 1: case 8: return IOP_ASYNC_WRITE;         /* PWRITE, PWRITEV */
	case 2: case 3: return IOP_ASYNC_SYNC;          /* FSYNC, FDSYNC */
	default: return IOP_ASYNC_OTHER;
	}
}

__noinline int aio_iocb(struct thread *t, u64 context, u64 slot, u64 now)
{
	struct iop_rec_async *rec;
	struct user_iocb iocb;
	u64 address = 0;
	bool unwanted = false;

	if (!t)
		return 0;
	/* an unreadable iocb is sent with unknown values, so that the positions in the array stay right */
	if (bpf_probe_read_user(&address, sizeof(address), (void *)slot) ||
	    bpf_probe_read_user(&iocb, sizeof(iocb), (void *)address))
		__builtin_memset(&iocb, 0xff, sizeof(iocb));
	else
		unwanted = descriptor_excluded(t, iocb.fd);
	rec = async_begin(t, IOP_LIBAIO, now);
	rec->key = address;
	rec->context = context;
	rec->user_data = iocb.data;
	rec->fd = iocb.fd;
	rec->opcode = iocb.opcode;
	rec->op = aio_op(iocb.opcode);
	if (rec->op == IOP_ASYNC_READ || rec->op == IOP_ASYNC_WRITE) {
		rec->bytes = iocb.opcode >= 7 ? iovec_bytes(iocb.buf, iocb.nbytes) : iocb.nbytes;
		rec->offset = iocb.offset;
	}
	if (unwanted)
		leave_out(t, rec);
	send_async(t, rec);
	return 0;
}

static long aio_iocb_step(u32 i, void *data)
{
	struct aio_walk *walk = data;

	aio_iocb(walk->t, walk->context, walk->address + 8ull * i, walk->now);
	return 0;
}

/* ---- the calls ---- */

static __always_inline void aio_enter(struct thread *t, struct frame *f, u32 nr)
{
	struct aio_walk walk = { .t = t };
	u64 count;

	if (nr == io_setup_nr)
		return;
	walk.context = f->args[0];
	aio_look(t, walk.context, f->enter_ns);
	if (nr != io_submit_nr)
		return;
	count = f->args[1];
	walk.address = f->args[2];
	walk.now = f->enter_ns;
	announce_call(t, walk.now);
	bpf_loop(count < AIO_SUBMIT_MAX ? count : AIO_SUBMIT_MAX, aio_iocb_step, &walk, 0);
}

/* Separate functions: inlined together they would use more stack than kernels before 6.13 allow for a chain of calls. */
__noinline int aio_made(struct thread *t, struct frame *f)
{
	struct aio_context fresh = { .known = 1 };
	struct aio_context_key key;
	u64 context = 0;

	if (!t || !f || bpf_probe_read_user(&context, sizeof(context), (void *)f->args[0]))
		return 0;
	key = aio_key(t, context);
	bpf_map_update_elem(&aio_contexts, &key, &fresh, BPF_ANY);
	return 0;
}

__noinline int aio_destroyed(struct thread *t, u64 context)
{
	struct aio_context_key key;

	if (!t)
		return 0;
	key = aio_key(t, context);
	bpf_map_delete_elem(&aio_contexts, &key);
	return 0;
}

static __always_inline void aio_leave(struct thread *t, struct frame *f, u32 nr, s64 ret, u64 now)
{
	if (ret < 0)
		return;
	if (nr == io_setup_nr)
		aio_made(t, f);
	else if (nr == io_destroy_nr)
		aio_destroyed(t, f->args[0]);
	else if ((nr == io_getevents_nr || nr == io_pgetevents_nr) && !aio_look(t, f->args[0], now) && ret)
		aio_reaped(t, f->args[0], f->args[1], ret, now);
}

#endif
