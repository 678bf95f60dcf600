/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Access to the state of threads, processes and recordings. A task without thread state, or with that of a recording that has
 * ended, is not traced: every program makes this look-up first.
 */
#ifndef IOPROBE_BPF_STATE_H
#define IOPROBE_BPF_STATE_H

#include "maps.bpf.h"

static __always_inline struct iop_recording *recording_by(u32 id)
{
	return &recordings[id & IOP_RECORDING_SLOT];
}

static __always_inline bool is_recording(u32 id)
{
	return id && recording_by(id)->id == id;
}

static __always_inline u32 slot_of(struct thread *t)
{
	return t->recording & IOP_RECORDING_SLOT;
}

/* Reads a member of a kernel object by a plain load, which faults harmlessly, where the kernel can give a pointer its type (Linux
 * 6.2). Otherwise every pointer on the way costs a helper call, ten times as much. A pointer that is read from a
 * trusted one (the current task) without this macro costs the verifier some searches of all the kernel's types by name, 0.3 ms each
 * (btf_nested_type_is_trusted). This macro's loads take a check of 2 ns instead. */
extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;
#define LOAD(p, member)                                                                                                   \
	({                                                                                                                \
		typeof(p) p_ = (p);                                                                                       \
		typeof(p_->member) v_;                                                                                    \
		if (bpf_rdonly_cast && typed_loads)                                                                       \
			v_ = ((typeof(p_))bpf_rdonly_cast(p_, bpf_core_type_id_kernel(typeof(*p_))))->member;             \
		else                                                                                                      \
			v_ = BPF_CORE_READ(p_, member);                                                                   \
		v_;                                                                                                       \
	})

static __always_inline struct thread *thread_with_storage(struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);

	return t && is_recording(t->recording) ? t : 0;
}

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	return LOAD(task, bpf_storage) ? thread_with_storage(task) : 0;
}

/* The same for the programs that every system call of the node comes to. */
static __always_inline struct thread *thread_at_syscall(struct task_struct *task)
{
	return task->bpf_storage ? thread_with_storage(task) : 0;
}

static __always_inline struct iop_process_key process_key(struct thread *t)
{
	return (struct iop_process_key){ .tgid = bpf_get_current_pid_tgid() >> 32, .recording = t->recording };
}

/* The same as a number, for composite keys. */
static __always_inline u64 process_number(struct thread *t)
{
	return (u64)t->recording << 32 | bpf_get_current_pid_tgid() >> 32;
}

static __always_inline struct iop_counters *counters_of(u32 recording)
{
	u32 slot = recording & IOP_RECORDING_SLOT;

	return bpf_map_lookup_elem(&counters, &slot);
}

/* Atomic: sleepable programs can be preempted, and programs in interrupts run inside others. */
#define COUNT(recording, member, n)                                            \
	do {                                                                   \
		struct iop_counters *c_ = counters_of(recording);              \
		if (c_)                                                        \
			__sync_fetch_and_add(&c_->member, n);                  \
	} while (0)

static __always_inline struct process *process_of(struct thread *t)
{
	u32 slot = t->process;
	return slot ? bpf_map_lookup_elem(&processes, &slot) : 0;
}

#define FOUR_GIB (1ull << 32)

/* For a program of the i386 or x32 ABI, by its memory descriptor. Counted once, when first seen. */
static __always_inline void count_compat(u32 recording, struct task_struct *task)
{
	u64 size = BPF_CORE_READ(task, mm, task_size);

	if (size && size <= FOUR_GIB)
		COUNT(recording, compat_programs, 1);
}

/* Separate functions, so that the verifier checks them once. */
__noinline int forget_all_fds(struct process *p)
{
	for (int w = 0; w < KNOWN_FDS / 64 && p; w++)
		p->known[w] = p->excluded[w] = 0;
	return 0;
}

__noinline bool process_claim(u32 slot, u32 recording, u32 tgid)
{
	struct process *p = slot ? bpf_map_lookup_elem(&processes, &slot) : 0;
	u64 owner;

	if (!p)
		return false;
	owner = p->owner;
	if (is_recording(owner >> 32) || __sync_val_compare_and_swap(&p->owner, owner, (u64)recording << 32 | tgid) != owner)
		return false;
	p->unprobed_code = 0;
	p->table_users = 1;
	p->generation++;
	p->many_threads = 0;
	p->image = call_sites ? __sync_fetch_and_add(&last_image, 1) + 1 : 0;
	forget_all_fds(p);
	return true;
}

struct slot_search { u32 recording, tgid, slot; };

static long process_claim_step(u32 i, void *data)
{
	struct slot_search *search = data;
	u32 slot = __sync_fetch_and_add(&process_cursor, 1) % MAX_PROCESSES;

	(void)i;
	if (!process_claim(slot, search->recording, search->tgid))
		return 0;
	search->slot = slot;
	return 1;
}

/* Finds a free slot near the cursor. Two allocations collide only if both see the slot free at once: the compare-and-exchange
 * decides. */
__noinline u32 process_allocate(u32 recording, u32 tgid)
{
	struct slot_search search = { .recording = recording, .tgid = tgid };

	bpf_loop(64, process_claim_step, &search, 0);
	if (!search.slot)
		COUNT(recording, no_process_slot, 1);
	return search.slot;
}

#endif
