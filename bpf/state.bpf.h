/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Maps, and the state of a traced thread: its stack of open calls, its sequence number, room to build a record. A task without
 * thread state, or with that of a recording that has ended, is not traced: every program makes this look-up first.
 */
#ifndef IOPROBE_BPF_STATE_H
#define IOPROBE_BPF_STATE_H

#include <ioprobe/demand.h>
#include <ioprobe/descriptor.h>
#include <ioprobe/maps.h>
#include <ioprobe/process.h>
#include <ioprobe/recording.h>
#include <ioprobe/sites.h>

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
	FRAME_ALTSTACK = 4,     /* runs on a signal stack: its stack pointer does not compare with those of frames below */
	FRAME_LATE_STRINGS = 8, /* a string could not be read at entry */
	FRAME_HIJACKED = 16,    /* a return probe replaced the return address */
	FRAME_MAPS_CODE = 32,   /* an mmap with PROT_EXEC */
	FRAME_TEST = 128,       /* may be filtered at its return: the ENTERs of frames below wait until then */
	FRAME_LEFT_OUT = 64,    /* filtered: counted at its return */
	FRAME_ARRAYS = 256,     /* array arguments are sent with its first record */
	FRAME_COLLECTIVE = 512, /* outside of I/O: recorded only next to it (collectives.bpf.h) */
	FRAME_WAITED = 1024,    /* its thread waited for probes at its entry: waited_in_vain() in library.bpf.h */
	FRAME_UNALIGNED = 2048, /* a system call's buffer is not aligned in memory */
};

struct frame {
	u64 enter_ns;
	u64 sp;                 /* at entry: address of the return address */
	u64 ret;                /* the return address; 0: it could not be read */
	u16 probe;
	u16 flags;
	u8 nargs;
	u8 arg_failed;
	u8 slot;                /* of its recording */
	u8 pad;
	u64 args[IOP_MAX_ARGS];
};

/* A system call on a descriptor, or one that closes or replaces it (fd_epochs.bpf.h). */
struct fd_call { u32 index, epoch, flags; s32 fd; };

/* ---- call sites (sites.bpf.h) ---- */

#define SITE_CHAINS 2           /* a power of two */
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
	bool python;
};

/* A walk up the stack of a call. */
struct site_walk {
	u64 now, sp, pc, cfa;
	u64 bp, bp_at;          /* the caller's rbp: saved there, or the value if that is 0 */
	u64 top;                /* the word at sp, where the return address is there; 0: not read */
	u32 image, node, call, frames, application, chain;
	bool cacheable, whole, renews;
	bool python;            /* there may be frames of Python code */
};

/* With --cpu-time (cpu_time.bpf.h). off_ns: sum of the time that the thread was off its CPU; io_ns: of that, asleep for I/O. */
struct cpu_use {
	u64 off_ns, io_ns;
	u64 since_ns;           /* when it left its CPU; 0: it is on one */
	u64 switches;           /* observed ones */
	/* at the begin of the outermost call, … */
	u64 begin_off_ns, begin_io_ns, begin_delay_ns, begin_user_ns, begin_system_ns, begin_voluntary, begin_unseen;
	u64 end_off_ns, end_delay_ns, end_unseen;       /* … and at the end of the previous one, */
	u32 ended;              /* if its record was sent */
	u32 sleeps_for_io;
};

/* With --collectives (collectives.bpf.h): the thread's last collective call outside of I/O, which was not sent. leave_ns 0:
 * none. */
struct held_collective {
	u64 enter_ns, leave_ns;
	s32 ret;
	u16 probe;
	u16 after_io;           /* an outermost call was recorded since the last collective call */
};

/* While a call reads a file's header (header.bpf.h). */
struct header {
	u32 magic;              /* how headers begin */
	u32 room;               /* bytes that may still be sent, with HEADER_FOUND; 0: no such call is open */
	u32 depth;              /* frames on the stack, up to and with that call's */
	u32 bytes;              /* of the buffer of a library's call inside */
	u64 buffer;
	u64 ino;                /* with HEADER_FOUND: the file whose header it is */
	u32 dev, generation;
};
#define HEADER_FOUND 0x80000000

/* A walk from a file up to the root of its mount namespace. */
struct path_walk { u64 mount, dentry; u32 used; u32 truncated; };

struct thread {
	u32 recording;          /* its id; these four come first: struct iop_thread_head */
	u32 seq;
	u32 depth;
	u32 process;            /* slot in processes; 0: none was free */
	u32 table; /* slot in processes of a descriptor table other than the process' (tables.bpf.h); 0: it uses that one */
	u32 held_site;          /* of the collective call in held: here is room */
	u64 files;              /* kernel address of its descriptor table; 0: not yet read */
	u32 group_ended;        /* for a leader: one of the process' last threads has reported the end of the process */
	u32 ended;              /* its end was reported */
	u64 last_fork, last_exec;       /* those whose records were sent last: see tasks.bpf.h */
	u64 returns_without_frame;
	u64 frames_too_deep;
	u64 hits;               /* of probes */
	u64 device_bytes, slept_before_ns;      /* at the entry of a system call, with --device */
	u64 slept_ns, sleeps_since_ns;
	struct cpu_use cpu;
	struct held_collective held;
	u64 home_low, home_size;                /* its stack (stacks.bpf.h); size 0: not known */
	u64 trampoline;                         /* return address of hijacked frames in this process; 0: not yet known */
	struct fd_call fd_calls[2], fd_change;
	struct path_walk walk;
	u32 site;               /* of the outermost open call */
	u32 inner;              /* the call that enters is recorded at its entry only: judge_inner() */
	struct header header;
	struct site_walk up;
	struct site_chain chains[SITE_CHAINS];
	struct frame frames[MAX_DEPTH];
	u8 scratch[sizeof(struct iop_rec_fd) + PATH_ROOM + 496];
};

/* From Linux 6.19 on task storage cannot allocate more than 8192 bytes, of which about 140 are the kernel's. */
_Static_assert(sizeof(struct thread) <= 7936, "struct thread does not fit into task storage");

#define THREAD_HEAD(member) \
	_Static_assert(__builtin_offsetof(struct thread, member) == __builtin_offsetof(struct iop_thread_head, member), #member)
THREAD_HEAD(recording);
THREAD_HEAD(seq);
THREAD_HEAD(depth);
THREAD_HEAD(process);

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

/* Finds a free slot near the cursor. Two allocations collide only if both see the slot free at once: the compare-and-exchange
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
