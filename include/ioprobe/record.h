/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The record format, shared by the BPF programs, the agent and the spool: one struct per record.
 * Kernel records (type < 64) travel ring -> spool unchanged; agent records (type >= 64) are appended by the agent.
 * All integers are in host byte order; every record's length is a multiple of 8.
 */
#ifndef IOPROBE_RECORD_H
#define IOPROBE_RECORD_H

#ifdef __bpf__
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
#else
#include <linux/types.h>
#endif

/* The record types: X(NAME, number, struct, payload), see enum iop_payload. Types below 64 are sent by the BPF programs, the others
 * are written by the agent. The enum, the size checks and the length check of records that are read (user/spool/record.c) are
 * generated from this list. */
#define IOP_RECORDS(X) \
	/* a complete call without recorded children */ \
	X(CALL, 1, iop_rec_call, IOP_PAYLOAD_CALL) \
	/* entry of a call that has children or strings; ret unused */ \
	X(ENTER, 2, iop_rec_call, IOP_PAYLOAD_CALL) \
	/* return of such a call; args hold the OUT values only (all arguments with IOP_F_STRINGS) */ \
	X(EXIT, 3, iop_rec_call, IOP_PAYLOAD_CALL) \
	/* what a descriptor refers to, sent before its first use */ \
	X(FD, 4, iop_rec_fd, IOP_PAYLOAD_PATH) \
	/* a process' working directory after chdir, fd -1 */ \
	X(CWD, 5, iop_rec_fd, IOP_PAYLOAD_PATH) \
	/* a thread or process was made */ \
	X(FORK, 6, iop_rec_fork, IOP_PAYLOAD_NONE) \
	/* a process became another program */ \
	X(EXEC, 7, iop_rec_exec, IOP_PAYLOAD_EXEC) \
	/* a thread ended */ \
	X(TASK_EXIT, 8, iop_rec_task_exit, IOP_PAYLOAD_NONE) \
	/* code was mapped that may need probes (for the agent) */ \
	X(MAP_EXEC, 9, iop_rec_map, IOP_PAYLOAD_NONE) \
	/* an operation was submitted through libaio or io_uring */ \
	X(ASYNC, 10, iop_rec_async, IOP_PAYLOAD_NONE) \
	/* the operation completed */ \
	X(ASYNC_END, 11, iop_rec_async_end, IOP_PAYLOAD_NONE) \
	/* a file without a descriptor (registered, mapped): its identity in pos, fd -1 */ \
	X(FILE, 12, iop_rec_fd, IOP_PAYLOAD_PATH) \
	/* the addresses of a socket, with --sockets */ \
	X(SOCKET, 13, iop_rec_socket, IOP_PAYLOAD_NAME) \
	/* inside a call: its block device I/O and wait time, with --device */ \
	X(DEVICE, 14, iop_rec_device, IOP_PAYLOAD_NONE) \
	/* values of a library's constants in a process */ \
	X(CONSTANTS, 15, iop_rec_constants, IOP_PAYLOAD_VALUES) \
	/* a call site, before the first call from there */ \
	X(SITE, 16, iop_rec_site, IOP_PAYLOAD_NONE) \
	/* from now on the thread has its own copy of the descriptor table that it used, after unshare(2) and the like */ \
	X(OWN_FILES, 17, iop_rec, IOP_PAYLOAD_NONE) \
	/* before the CALL or EXIT of a call whose descriptor was closed or replaced meanwhile, and of the closing call */ \
	X(FD_EPOCH, 18, iop_rec_fd_epoch, IOP_PAYLOAD_NONE) \
	/* state of a call's requests, before its CALL or EXIT */ \
	X(REQUESTS, 20, iop_rec_requests, IOP_PAYLOAD_REQUESTS) \
	/* probes on demand are requested for this process (for the agent) */ \
	X(DEMAND, 21, iop_rec, IOP_PAYLOAD_NONE) \
	/* operations that a call begins, after its ENTER (in old records before its CALL or EXIT): elements are iop_submitted */ \
	X(SUBMITTED, 22, iop_rec_requests, IOP_PAYLOAD_REQUESTS) \
	/* what a call inside of an open call has read: a part of the file's header */ \
	X(CONTENTS, 23, iop_rec_contents, IOP_PAYLOAD_BYTES) \
	/* a mount, before the first description of a file on it */ \
	X(MOUNT, 36, iop_rec_fd, IOP_PAYLOAD_PATH) \
	/* a piece of a Python code object's file name, name or line table, before the first SITE record of that code */ \
	X(PYTHON_CODE, 24, iop_rec_python_code, IOP_PAYLOAD_PIECE) \
	/* before the CALL or EXIT of an outermost call, with --cpu-time: when it was off its CPU; without a record: never */ \
	X(CPU, 28, iop_rec_cpu, IOP_PAYLOAD_NONE) \
	/* a collective call of MPI next to an outermost I/O call, with --collectives: sent when that begins */ \
	X(COLLECTIVE, 29, iop_rec_collective, IOP_PAYLOAD_NONE) \
	\
	/* host, kernel, version, clocks, shared mounts, command line */ \
	X(HOST, 64, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* the source of one probe table, in load order; probe ids count rows over all tables */ \
	X(TABLE, 65, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* one process: exe, cmdline, cwd, rank variables, mount namespace */ \
	X(PROCESS, 66, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* mountinfo of one mount namespace */ \
	X(MOUNTS, 67, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* a probed library of one process: path, version, constants */ \
	X(LIBRARY, 68, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* a probe or library that could not be probed, and why */ \
	X(MISSING, 69, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* a span in which a layer of one process was not observed */ \
	X(GAP, 70, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* every ring was drained up to time_ns */ \
	X(ROUND, 71, iop_rec, IOP_PAYLOAD_NONE) \
	/* records dropped by a full ring */ \
	X(LOST, 72, iop_rec_lost, IOP_PAYLOAD_NONE) \
	/* the recording ended in order: reason, totals, clocks */ \
	X(END, 73, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* a filter, or the calls of a layer that it excluded since the last such record */ \
	X(LEFT_OUT, 74, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* progress of a spool without END: number of records written, lost and dropped so far (text) */ \
	X(STATUS, 75, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* code mapping of a process, for call sites: start, end, offset (hex), path, deleted, dev, ino, build_id, since_ns */ \
	X(MAPPING, 76, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* what a recorded call costs on this host: layer_N=NS INSIDE_NS NAME, of that record_N=NS and site_N=NS where measured; \
	 * single_step_ns, nested_ns */ \
	X(COSTS, 88, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* the wall clock was set: the clocks afterwards; since_ns: when it was last seen unchanged */ \
	X(CLOCK, 100, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* layout of a file on Lustre: dev_major, dev_minor, ino; error, or size, count, devices, pool, components */ \
	X(STRIPES, 90, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* page faults on one mapped file, with --mmap-faults */ \
	X(MAPPED, 80, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* address at which a file with a call site is mapped */ \
	X(CODE, 81, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* the callers of one call, found in a copy of its stack */ \
	X(CALLERS, 82, iop_rec_text, IOP_PAYLOAD_TEXT) \
	/* function, file and line of one place in the code */ \
	X(SYMBOL, 83, iop_rec_text, IOP_PAYLOAD_TEXT)

/* The payload that follows a record's struct, within its length. Records may be longer than that: later versions append members. */
enum iop_payload {
	IOP_PAYLOAD_NONE,
	IOP_PAYLOAD_CALL,       /* nargs <= IOP_MAX_ARGS values; with IOP_F_STRINGS all of them, followed by lengths and bytes */
	IOP_PAYLOAD_PATH,       /* path_len bytes */
	IOP_PAYLOAD_EXEC,       /* path_len bytes */
	IOP_PAYLOAD_NAME,       /* name_len bytes of name are used */
	IOP_PAYLOAD_VALUES,     /* n values of 8 bytes */
	IOP_PAYLOAD_REQUESTS,   /* n request states */
	IOP_PAYLOAD_PIECE,      /* len bytes */
	IOP_PAYLOAD_BYTES,      /* len bytes */
	IOP_PAYLOAD_TEXT,       /* text_len bytes; the only payload of records whose len may be 0 */
};

#define IOP_RECORD_NUMBER(name, number, type, payload) IOP_REC_##name = number,
enum iop_rec_type { IOP_RECORDS(IOP_RECORD_NUMBER) };
#define IOP_REC_AGENT 64        /* first type number of the agent's records */

/* iop_rec.flags */
#define IOP_F_ABANDONED 0x01    /* EXIT: the frame was left without a return (longjmp, exception, thread exit); no ret, no args */
#define IOP_F_STRINGS 0x02      /* strings or arrays follow args[] */
/* EXIT, with IOP_F_ABANDONED: sent right after the entry, because the return of this call is not observed */
#define IOP_F_UNSEEN 0x04
#define IOP_F_NOT_HELD 0x10     /* MAP_EXEC: the code may run from now on, although its probes are not in place */
/* CALL, ENTER, EXIT of a system call on data: its buffer does not begin at a multiple of IOP_BUFFER_ALIGNMENT bytes in memory */
#define IOP_F_UNALIGNED 0x20
#define IOP_BUFFER_ALIGNMENT 8
#define IOP_F_SCAN 0x08         /* FD: found in /proc at attach; FORK: existed at attach */

/* Header of every record. seq counts the BPF records of one thread without gaps, starting at 1; agent records have seq 0. time_ns
 * is CLOCK_MONOTONIC at emission and never decreases along seq. */
struct iop_rec {
	__u16 len;      /* of the whole record in bytes, multiple of 8 */
	__u8 type;      /* enum iop_rec_type */
	__u8 flags;     /* IOP_F_* */
	__u32 tid;      /* in the initial pid namespace */
	__u32 tgid;
	__u32 seq;
	__u64 time_ns;
};

#define IOP_MAX_ARGS 8

/* CALL, ENTER and EXIT. args[] are the captured arguments of the probe's descriptor in their order: all of them in CALL and ENTER
 * (an OUT argument holds the pointer in ENTER, its target in CALL), only the OUT ones in EXIT; bit i of arg_failed is set if the
 * i-th value of args[] could not be read. With IOP_F_STRINGS, args[] has all arguments in their positions, in an EXIT too, and is
 * padded to IOP_MAX_ARGS (nargs gives their number). Then, for every string and array argument in order: __u16 length in bytes,
 * then the bytes (a string without its NUL; of an array its first IOP_ARRAY_MAX elements, whatever its real length); no padding
 * between them, zeros after the last. Length bit 15: truncated. Length 0xffff: unreadable, or filled in by the call (an EXIT may
 * bring it later). */
struct iop_rec_call {
	struct iop_rec rec;     /* time_ns: of the return in CALL and EXIT, of emission in ENTER */
	__u16 probe;            /* row number over all tables */
	__u8 nargs;
	__u8 depth;             /* number of open recorded frames below this one */
	__u8 arg_failed;
	__u8 site[3];           /* of an outermost call: the number of its SITE record, lowest byte first; 0: none or unknown */
	__u64 enter_ns;
	__s64 ret;              /* raw return register; for system calls the negative errno on failure */
	__u64 args[];
};

/* The file that a descriptor (or, in CWD, the working directory) refers to. path_len bytes follow: the names from the file up to
 * the root of the mount namespace, each with its NUL, leaf first ("b\0a\0" is /a/b). Pipes, sockets and the like have only the name
 * of their dentry. Sent before the record of the call that created or first uses the descriptor. */
struct iop_rec_fd {
	struct iop_rec rec;
	__s32 fd;
	__u32 i_mode;           /* inode type and permission */
	__u64 ino;
	__u32 dev_major, dev_minor;
	__u32 mnt_id;           /* as in mountinfo, 0 unknown */
	__u32 f_flags;          /* O_* of the open file */
	__s64 pos;
	__u32 sb_magic;         /* statfs f_type, 0 unknown */
	__u16 path_len;
	__u8 cloexec;           /* 0, 1, or 2 unknown */
	__u8 state;             /* IOP_FD_* */
	char path[];
};
/* MOUNT: mnt_id, dev and sb_magic are those of the mount; ino is the file system's block size in bytes, 0 unknown; path has the
 * file system's type, its subtype (or nothing) and the source (nothing if the file system names it itself), each with its NUL, then
 * the names of the mount point up to the root, leaf first. */
#define IOP_FD_TRUNCATED 0x01   /* the path has more components or bytes than were copied */
#define IOP_FD_DELETED 0x02     /* the file has been unlinked */

struct iop_rec_fork {
	struct iop_rec rec;     /* of the parent thread; with IOP_F_SCAN of the found thread itself */
	__u32 child_tid;
	__u32 child_tgid;       /* equals rec.tgid for a thread */
	__u32 flags;            /* IOP_FORK_* */
	/* with IOP_F_SCAN: a number for the thread's descriptor table if it differs from that of its process, else 0 */
	__u32 table;
	char comm[16];
};
#define IOP_FORK_UNTRACKED 0x01 /* no memory for the child's state: its calls are not recorded */
#define IOP_FORK_OWN_FILES 0x02 /* a thread that does not share its creator's descriptors: it has a copy */
#define IOP_FORK_SHARED_FILES 0x04 /* a process that shares them */

struct iop_rec_exec {
	struct iop_rec rec;     /* tid is the new thread leader's */
	__u32 old_tid;          /* the thread that called exec */
	__u32 path_len;         /* bytes of path, without NUL */
	char path[];
};

struct iop_rec_task_exit {
	struct iop_rec rec;     /* its open frames were sent before as abandoned EXITs */
	__u32 group_dead;       /* last thread of its process */
	__s32 exit_code;        /* as in wait(2) */
	__u64 returns_without_frame; /* return probes of this thread that found no open frame */
	__u64 frames_too_deep;  /* calls that were not recorded because they were nested deeper than the frame stack */
};

/* As it is sent since there is a count of them; longer than its struct, which old records have alone. */
struct iop_rec_task_exit_hits {
	struct iop_rec_task_exit exit;
	/* of probes, on library functions (entry and return) and system calls that tables name, by this thread */
	__u64 hits;
};

/* The epoch of a descriptor is how often it was closed or replaced while its table had several threads. Sent only where calls
 * overlap a change: of a change begun and epoch are the epochs that it ends and begins, and running the calls whose records say
 * that they were running then: each of these has such a record, before or after the change's. Of a call on the descriptor begun is
 * the epoch at its entry, and epoch the one that follows the last change that has counted it. */
struct iop_rec_fd_epoch {
	struct iop_rec rec;
	__u64 enter_ns;         /* of the call */
	__s32 fd;
	__u32 flags;            /* IOP_EPOCH_* */
	__u32 begun, epoch;
	__u32 running;
	__u32 pad;
};
#define IOP_EPOCHS (1u << 20)   /* epochs are counted modulo this */
#define IOP_EPOCH_CHANGE 0x01   /* the call closed or replaced the descriptor */
#define IOP_EPOCH_DURING 0x02   /* the call began while another call was closing or replacing it … */
#define IOP_EPOCH_NEXT 0x04     /* … and the descriptor already referred to the next file: the call belongs to epoch begun + 1 */

/* Addresses in network order, IPv4 in the first four bytes; a UNIX socket's name as in sockaddr_un (abstract ones begin with
 * NUL). */
struct iop_rec_socket {
	struct iop_rec rec;
	__u64 ino;              /* inode number of the socket, as in its FD record */
	__u16 family, type, protocol;
	__u16 local_port, peer_port;
	__u8 name_len;
	__u8 name_of_peer;      /* the name is the peer's; the socket itself has none */
	__u32 pad;
	__u8 local[16], peer[16];
	char name[112];
};

/* Sent before the EXIT of a system call that accessed a block device or waited for I/O. */
struct iop_rec_device {
	struct iop_rec rec;
	__u64 read_bytes;       /* bytes that it requested from block devices, including read-ahead */
	__u64 wait_ns;          /* time that it slept for I/O */
};

/* Times of the thread during an outermost call, and before it since the end of the thread's previous one: off_ns minus delay_ns is
 * the time that it slept. user_ns and system_ns are multiples of the clock tick on most kernels: only sums of many are accurate. */
struct iop_rec_cpu {
	struct iop_rec rec;
	__u64 enter_ns;         /* of the call */
	__u64 off_ns;           /* not on a CPU */
	__u64 delay_ns;         /* of that, ready to run and waiting for a CPU */
	__u64 io_ns;            /* of off_ns, asleep for I/O, and then waiting for a CPU */
	__u64 user_ns, system_ns;
	__u64 before_off_ns, before_delay_ns;
	__u32 voluntary;        /* number of times that it went to sleep */
	__u32 flags;            /* IOP_CPU_* */
};
#define IOP_CPU_UNKNOWN 0x01    /* not every switch of the thread was observed: off_ns and io_ns are lower bounds */
#define IOP_CPU_BEFORE_UNKNOWN 0x02     /* the same before the call, or the previous call's end was not recorded */
#define IOP_CPU_NO_DELAY 0x04   /* the kernel does not count run delay: off_ns cannot be divided */

/* The last collective call before an outermost call, without recorded calls inside. The thread sends no other record of a call
 * between its end and this record. The first one after an outermost call is a CALL. */
struct iop_rec_collective {
	struct iop_rec rec;     /* time_ns: of emission */
	__u64 enter_ns, leave_ns;
	__s64 ret;
	__u16 probe;            /* row number over all tables */
	__u8 site[3];           /* as in struct iop_rec_call */
	__u8 pad[3];
};

/* One frame of a call site: return address pc; the parent is its callee. With IOP_SITE_CALL the record is not a frame: it
 * represents one call from the parent, whose callers are in a CALLERS record. */
struct iop_rec_site {
	struct iop_rec rec;
	__u32 id, parent;       /* parent 0: the innermost frame, which makes the call */
	__u64 pc;
	__u32 image;            /* generation of the process' code: inherited by fork, renewed by exec and when code is unmapped */
	__u32 flags;            /* IOP_SITE_* */
};
#define IOP_SITE_CALL 0x01
#define IOP_SITE_WHOLE 0x02     /* nothing is to be known beyond this frame: the outermost one, or as many as are wanted */
#define IOP_SITE_TRUNCATED 0x04 /* nothing can be known beyond it: no unwind information, or too many frames */
/* A frame of Python code: image is the number in PYTHON_CODE records, pc the instruction's offset in the code. With IOP_SITE_ENTRY
 * the frame was called from machine code, by a frame of the interpreter's loop. */
#define IOP_SITE_PYTHON 0x08
#define IOP_SITE_ENTRY 0x10
/* no frame: a call whose frames of machine code are the parent's, and of Python code those of site pc */
#define IOP_SITE_PAIR 0x20

/* Of total units of the text or table, those from at on: bytes, or characters of kind bytes each. */
struct iop_rec_python_code {
	struct iop_rec rec;
	__u32 id;
	__s32 first_line;
	__u32 total, at;
	__u16 len;              /* bytes in this piece */
	__u8 piece;             /* enum iop_python_piece */
	__u8 kind;              /* bytes of a character: 1 (Latin-1), 2, 4 (UTF-16, UTF-32 without surrogates) */
	__u32 pad;
	__u8 bytes[];
};
enum iop_python_piece { IOP_PYTHON_FILE, IOP_PYTHON_NAME, IOP_PYTHON_LINES };

/* Part of a file's header, before the record of the call that has read it. The bytes are the program's: not to be trusted. len 0:
 * two files had a beginning like a header's, so it is not known which of them is being opened. */
struct iop_rec_contents {
	struct iop_rec rec;
	__u64 offset;           /* in the file */
	__u32 len;
	__u32 pad;
	__u8 bytes[];
};

/* Values of the constants in struct iop_constants, in its order; 0: unknown. Sent before the first call that may use one. */
struct iop_rec_constants {
	struct iop_rec rec;
	__u32 layer;
	__u32 n;
	__s64 value[];
};

/* One request of a call on several. A request is identified by its value and the time_ns of the record of the call that made it:
 * the value alone may be reused, even before the call that waited for it has returned. */
struct iop_request_state {
	__u64 request;
	__u64 issued_ns;        /* 0: requests of this library are not tracked */
	__u64 bytes;            /* from the status */
	__u32 state;            /* IOP_REQUEST_* */
	__s32 cancelled;        /* from the status */
};
#define IOP_REQUEST_DONE 0x01   /* it has completed */
#define IOP_REQUEST_STATUS 0x02 /* there was a status, and it could be read */

/* One of several operations that a call has begun. */
struct iop_submitted {
	__u64 request;          /* address of its control block */
	__u64 offset, bytes;
	__s32 fd, opcode;
};

struct iop_rec_requests {
	struct iop_rec rec;
	__u64 enter_ns;         /* of the call */
	__u16 probe;
	__u16 n;
	__u32 beyond;           /* number of further requests that were not inspected */
	struct iop_request_state v[];
};

struct iop_rec_map {
	struct iop_rec rec;
	__u64 addr;
};

/* An operation that one call submits to the kernel and that completes later. For libaio the record is sent inside io_submit's ENTER
 * … EXIT, in the array's order, before it is known whether the operation is accepted: ret of the EXIT is the number of accepted
 * ones. For io_uring it is sent when the kernel takes the submission, inside io_uring_enter or by the kernel's polling thread,
 * which is in no call. */
struct iop_rec_async {
	struct iop_rec rec;
	/* In the rings these are kernel addresses; the agent replaces them by numbers of the recording before they reach the
	 * spool. */
	__u64 key;              /* io_uring: the kernel's request; libaio: the iocb. Reused after completion */
	__u64 context;          /* io_uring: the ring; libaio: the context */
	__u64 user_data;
	__u64 bytes;            /* requested number, all ones if unknown */
	__s64 offset;           /* -1: the current position, or not applicable */
	__u64 file;             /* with IOP_ASYNC_REGISTERED: the identity in its FILE record, 0: unknown */
	__s32 fd;               /* or the index of the registered file */
	__u8 op;                /* enum iop_async_op */
	__u8 interface;         /* enum iop_async_interface */
	__u8 opcode;            /* the opcode of the interface */
	__u8 flags;             /* IOP_ASYNC_* */
};
enum iop_async_op { IOP_ASYNC_OTHER, IOP_ASYNC_READ, IOP_ASYNC_WRITE, IOP_ASYNC_SYNC, IOP_ASYNC_OPEN, IOP_ASYNC_CLOSE };
enum iop_async_interface { IOP_LIBAIO = 1, IOP_URING = 2 };
#define IOP_ASYNC_REGISTERED 0x01 /* on a registered file; for OPEN and CLOSE: creates or closes one */
#define IOP_ASYNC_SILENT 0x02   /* success is not reported: there may be no completion */
#define IOP_ASYNC_LEFT_OUT 0x04 /* filtered */

/* rec.seq is 0 if it completed outside of all traced threads (in a kernel worker): tid and tgid are the submitter's. */
struct iop_rec_async_end {
	struct iop_rec rec;
	__u64 key;              /* 0: identified by context and user_data only */
	__u64 context, user_data;
	__s64 res;              /* bytes, a descriptor, or a negative errno */
	__u32 more;             /* 1: a partial completion, more follow */
	__u8 interface;
	__u8 excluded;          /* the new descriptor is filtered */
	__u8 pad[2];
};

/* Text payload: key=value lines, each ended by '\n'; a value runs to the end of its line, with bytes < 0x20, '\\' and 0x7f
 * written as \xHH. TABLE and MOUNTS payloads: the key=value lines end at the first empty line, the raw text follows. */
struct iop_rec_text {
	struct iop_rec rec;
	__u32 text_len;         /* bytes of text; rec.len is 0 for records over 65528 bytes: their size follows from text_len */
	__u32 pad;
	char text[];
};

struct iop_rec_lost {
	struct iop_rec rec;     /* time_ns: when noticed; the gap in seq gives the place per thread */
	__u64 lost;             /* records dropped since the last LOST record, all rings */
	__u64 since_ns;         /* begin of that interval */
};

#define IOP_RECORD_ALIGNED(name, number, type, payload) _Static_assert(sizeof(struct type) % 8 == 0 && (number) < 256, #name);
IOP_RECORDS(IOP_RECORD_ALIGNED)

_Static_assert(sizeof(struct iop_rec) == 24, "iop_rec");
_Static_assert(sizeof(struct iop_rec_call) == 48, "iop_rec_call");
_Static_assert(sizeof(struct iop_rec_fd) == 72, "iop_rec_fd");
_Static_assert(sizeof(struct iop_rec_fork) == 56, "iop_rec_fork");
_Static_assert(sizeof(struct iop_rec_fd_epoch) == 56, "iop_rec_fd_epoch");
_Static_assert(sizeof(struct iop_rec_exec) == 32, "iop_rec_exec");
_Static_assert(sizeof(struct iop_rec_task_exit) == 48, "iop_rec_task_exit");
_Static_assert(sizeof(struct iop_rec_task_exit_hits) == 56, "iop_rec_task_exit_hits");
_Static_assert(sizeof(struct iop_rec_socket) == 192, "iop_rec_socket");
_Static_assert(sizeof(struct iop_rec_device) == 40, "iop_rec_device");
_Static_assert(sizeof(struct iop_rec_cpu) == 96, "iop_rec_cpu");
_Static_assert(sizeof(struct iop_rec_collective) == 56, "iop_rec_collective");
_Static_assert(sizeof(struct iop_rec_site) == 48, "iop_rec_site");
_Static_assert(sizeof(struct iop_rec_python_code) == 48, "iop_rec_python_code");
_Static_assert(sizeof(struct iop_request_state) == 32, "iop_request_state");
_Static_assert(sizeof(struct iop_submitted) == sizeof(struct iop_request_state), "iop_submitted");
_Static_assert(sizeof(struct iop_rec_requests) == 40, "iop_rec_requests");
_Static_assert(sizeof(struct iop_rec_map) == 32, "iop_rec_map");
_Static_assert(sizeof(struct iop_rec_async) == 80, "iop_rec_async");
_Static_assert(sizeof(struct iop_rec_async_end) == 64, "iop_rec_async_end");
_Static_assert(sizeof(struct iop_rec_constants) == 32, "iop_rec_constants");
_Static_assert(sizeof(struct iop_rec_contents) == 40, "iop_rec_contents");
_Static_assert(sizeof(struct iop_rec_text) == 32, "iop_rec_text");
_Static_assert(sizeof(struct iop_rec_lost) == 40, "iop_rec_lost");

#endif
