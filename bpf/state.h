/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Maps and the state of a traced thread: its stack of open calls, its sequence number, room to build a record.
 * A task without thread state, or with that of a recording that has ended, is not traced: that look-up is the first thing every
 * program does.
 */
#ifndef IOPROBE_BPF_STATE_H
#define IOPROBE_BPF_STATE_H

#include <ioprobe/demand.h>
#include <ioprobe/descriptor.h>
#include <ioprobe/process.h>
#include <ioprobe/recording.h>

#define MAX_DEPTH 24
#define STRING_ROOM 1024
#define PATH_ROOM 4096
#define PATH_MAX_NAMES 64
#define KNOWN_FDS IOP_KNOWN_FDS
#define MAX_PROCESSES 8192
#define MAX_SYSCALLS 512
#define NO_SYSCALL_PROBE 0xffff

enum frame_flags {
	FRAME_ENTERED = 1,      /* its ENTER record was sent */
	FRAME_SYSCALL = 2,
	FRAME_ALTSTACK = 4,     /* runs on a signal stack: stack pointers do not compare with frames below */
	FRAME_LATE_STRINGS = 8, /* a string could not be read at entry */
	FRAME_HIJACKED = 16,    /* a return probe replaced the return address */
	FRAME_MAPS_CODE = 32,   /* an mmap with PROT_EXEC */
	FRAME_TEST = 128,       /* may be left out at its return: the ENTERs of those below wait until then */
	FRAME_LEFT_OUT = 64,    /* filtered: counted at its return */
	FRAME_ARRAYS = 256,     /* array arguments go with its first record */
};

struct frame {
	u64 enter_ns;
	u64 sp;                 /* at entry: the address of the return address, which is */
	u64 ret;                /* 0: it could not be read */
	u16 probe;
	u16 flags;
	u8 nargs;
	u8 arg_failed;
	u8 slot;                /* of its recording */
	u8 pad;
	u64 args[IOP_MAX_ARGS];
};

/* A system call on a descriptor, or one that closes or replaces it (fd_epochs.h). */
struct fd_call { u32 index, epoch, flags; s32 fd; };

/* ---- call sites (sites.h) ---- */

#define SITE_CHAINS 4           /* a power of two */
#define SITE_CHAIN_WORDS 20
#define SITE_CHAIN_BYTES 4096   /* of stack that are compared */

/* The words of the stack that led to a site: where they are the same again, so is the site. */
struct site_chain {
	u64 pc, sp, bp;
	u64 value[SITE_CHAIN_WORDS];
	u16 offset[SITE_CHAIN_WORDS];   /* from sp */
	u32 node;               /* 0: none */
	u32 image, words;
	u16 need;               /* bytes from sp on that have all words */
	bool absolute;          /* holds for this sp and bp only */
};

/* A walk up the stack of a call. */
struct site_walk {
	u64 now, sp, pc, cfa;
	u64 bp, bp_at;          /* the caller's rbp: saved there, or the value if that is 0 */
	u32 image, node, call, frames, application, chain;
	bool cacheable, whole, renews;
};

/* A walk from a file up to the root of its mount namespace. */
struct path_walk { u64 mount, dentry; u32 used; u32 truncated; };

struct thread {
	u32 recording;          /* its id; first, for the agent that looks whose a process is */
	u32 seq;
	u32 depth;
	u32 process;            /* slot in processes, 0: none was free */
	u32 table;              /* slot in processes for a descriptor table that is not the process' (tables.h), 0: it uses that */
	u64 files;              /* the kernel's address of its descriptor table, 0: not looked at */
	u32 group_ended;        /* of a leader: one of the process' last threads has reported its end */
	u32 ended;              /* its end was reported */
	u64 last_fork, last_exec;       /* of which the records were sent: see tasks.h */
	u64 returns_without_frame;
	u64 frames_too_deep;
	u64 device_bytes, slept_before_ns;      /* at the entry of a system call, with --device */
	u64 slept_ns, sleeps_since_ns;
	u64 home_low, home_size;                /* its stack (stacks.h); size 0: not known */
	u64 trampoline;                         /* where hijacked return addresses lead in this process, 0: not known yet */
	struct fd_call fd_calls[2], fd_change;
	struct path_walk walk;
	u32 site;               /* of the outermost open call */
	u32 pad2;
	struct site_walk up;
	struct site_chain chains[SITE_CHAINS];
	struct frame frames[MAX_DEPTH];
	u8 scratch[sizeof(struct iop_rec_fd) + PATH_ROOM + 512];
};

struct counters {
	u64 lost;               /* records that found their ring full */
	u64 untracked;          /* threads for which no state could be allocated */
	u64 unwinds_late;       /* unwinders that did not get the return addresses in time */
	u64 holds_late;         /* launched processes whose probes were not in place in time */
	u64 no_process_slot;
	u64 waits_not_followed; /* a wait called back the program, which waited; or there was no memory */
	u64 privileged;         /* programs with other rights than their user's, not recorded */
	u64 entry_only;         /* calls whose return was not to be observed: it may be another stack's */
	u64 unread_environments; /* of new programs: whether they belong to the job could not be seen */
	u64 compat_programs;    /* of the 32-bit ABIs (i386, x32), whose system calls have other numbers and arguments: not recorded */
	u64 compat_calls;       /* system calls by the 32-bit entry whose numbers are recorded ones among the others */
};

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
	__uint(max_entries, 1);                 /* set before load: the rings of all slots */
	__type(key, u32);
	__array(values, struct ring_map);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOP_MAX_RECORDINGS);
	__type(key, u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* Files whose code the agent has looked at: 1 if nothing more is to be done when a further process maps it. */
struct file_key { u64 dev, ino, recording; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, u32);
} looked_at SEC(".maps");

/* By process: descriptor flags of probes that the cost ceiling has turned off. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, struct iop_process_key);
	__type(value, u32);
} turned_off SEC(".maps");

/* Processes in which no return address is touched: enum iop_entry_only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_process_key);
	__type(value, u32);
} entry_only SEC(".maps");

/* By process: constants that its libraries make at run time, and that were not sent yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_process_key);
	__type(value, struct iop_constants);
} constants SEC(".maps");

const volatile __u32 ring_count = 1;            /* of a slot, for records */
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
const volatile bool returns_optional = false;   /* a program may do without the return probe of a call */
__u32 process_cursor;
__u32 last_image;
__u32 link_ids[32];       /* for the agents: which tracepoint links are held, by program */
struct iop_recording recordings[IOP_MAX_RECORDINGS];

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

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	struct thread *t;

	if (!task->bpf_storage)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	return t && is_recording(t->recording) ? t : 0;
}

static __always_inline struct iop_process_key process_key(struct thread *t)
{
	return (struct iop_process_key){ .tgid = bpf_get_current_pid_tgid() >> 32, .recording = t->recording };
}

/* The same, in keys where it stands beside something else. */
static __always_inline u64 process_number(struct thread *t)
{
	return (u64)t->recording << 32 | bpf_get_current_pid_tgid() >> 32;
}

static __always_inline struct counters *counters_of(u32 recording)
{
	u32 slot = recording & IOP_RECORDING_SLOT;

	return bpf_map_lookup_elem(&counters, &slot);
}

/* Atomic: sleepable programs are preempted, and programs of interrupts run inside others. */
#define COUNT(recording, member, n)                                            \
	do {                                                                   \
		struct counters *c_ = counters_of(recording);                  \
		if (c_)                                                        \
			__sync_fetch_and_add(&c_->member, n);                  \
	} while (0)

static __always_inline struct process *process_of(struct thread *t)
{
	u32 slot = t->process;
	return slot ? bpf_map_lookup_elem(&processes, &slot) : 0;
}

#define FOUR_GIB (1ull << 32)

/* Of the program that this task's memory belongs to: of i386 or x32. Counted when it is seen first. */
static __always_inline void count_compat(u32 recording, struct task_struct *task)
{
	u64 size = BPF_CORE_READ(task, mm, task_size);

	if (size && size <= FOUR_GIB)
		COUNT(recording, compat_programs, 1);
}

/* Functions of their own, so that the verifier looks at them once. */
__noinline int forget_all_fds(struct process *p)
{
	for (int w = 0; w < KNOWN_FDS / 64 && p; w++)
		p->known[w] = p->left_out[w] = 0;
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

/* Finds a free slot near the cursor. Two allocations may meet on one slot only if both see it free at once: the exchange
 * decides. */
__noinline u32 process_allocate(u32 recording, u32 tgid)
{
	for (int i = 0; i < 64; i++) {
		u32 slot = __sync_fetch_and_add(&process_cursor, 1) % MAX_PROCESSES;

		if (process_claim(slot, recording, tgid))
			return slot;
	}
	COUNT(recording, no_process_slot, 1);
	return 0;
}

#endif
