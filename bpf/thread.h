/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a traced thread: its stack of open calls, its sequence number, room to build a record.
 */
#ifndef IOPROBE_BPF_THREAD_H
#define IOPROBE_BPF_THREAD_H

#include <ioprobe/descriptor.h>
#include <ioprobe/maps.h>
#include <ioprobe/record.h>

#define MAX_DEPTH 24
#define STRING_ROOM 1024
#define PATH_ROOM 4096
#define PATH_MAX_NAMES 64

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
	u32 held_site;          /* site of the collective call in held; placed here to fill the padding */
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

#endif
