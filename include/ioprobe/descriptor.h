/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the BPF programs must know of one probed function: made from a row of probes/, kept in a BPF array, found by the probe's
 * cookie (library functions) or through the system call's number. Everything else about an API stays in user space.
 */
#ifndef IOPROBE_DESCRIPTOR_H
#define IOPROBE_DESCRIPTOR_H

#include <ioprobe/record.h>

enum iop_arg_kind {
	IOP_ARG_VALUE = 0,      /* the 64-bit register or stack word */
	IOP_ARG_INT,            /* a 32-bit int, sign-extended */
	IOP_ARG_STRING,         /* a C string, its pointer in args[] */
	IOP_ARG_OUT_INT,        /* pointer to a 32-bit int that is read at return, sign-extended */
	IOP_ARG_OUT_VALUE,      /* pointer to a 64-bit value that is read at return */
	IOP_ARG_IN_INT,         /* pointer to a 32-bit int that is read at entry (MPI_File_close(MPI_File *) style) */
	IOP_ARG_IN_VALUE,       /* pointer to a 64-bit value that is read at entry */
	IOP_ARG_MSG,            /* pointer to a struct msghdr; the sum of its lengths is sent */
	IOP_ARG_OUT_MMSG,       /* pointer to struct mmsghdrs; the bytes of as many as the result says are added up at return */
	IOP_ARG_LONGS,          /* array of 64-bit values, nobody here knows how long: its first ones are sent */
	IOP_ARG_INTS,           /* the same of 32-bit ints */
	IOP_ARG_OUT_STRING,     /* a string, an array that the call fills in */
	IOP_ARG_OUT_LONGS,
	IOP_ARG_OUT_INTS,
	IOP_ARG_FLOCK,          /* fcntl's: pointer to a struct flock; a 64-bit word of it, read at entry if args[1] is a lock's */
	IOP_ARG_IOV,            /* struct iovec array; its number of elements is the next argument; the sum of lengths is sent */
};

/* iop_desc.flags */
#define IOP_D_NO_RETURN 0x0001  /* no return probe (calls user code, or does not return): one CALL at entry with ret 0 */
#define IOP_D_NESTED 0x0002     /* recorded only while another recorded call is open */
#define IOP_D_STRINGS 0x0004    /* has STRING arguments: send ENTER at once */
#define IOP_D_MAKES_FD 0x0008   /* system call: a return value >= 0 is a new descriptor: send FD before the call's record */
#define IOP_D_CLOSES_FD 0x0010  /* system call: forgets the descriptor in fd_arg */
#define IOP_D_CHDIR 0x0020      /* system call: send CWD on success */
#define IOP_D_NEEDS_FD 0x0040   /* system call: recorded only if fd_arg is >= 0 (mmap) */
#define IOP_D_UNWIND 0x0080     /* leaves frames without a return, see enum iop_unwind; sends nothing of itself */
#define IOP_D_REPLACES_FD 0x0100 /* system call: on success forgets and describes the descriptor in ret (dup2, dup3) */
#define IOP_D_CLOSES_RANGE 0x0200 /* system call close_range: forgets the descriptors from args[0] to args[1] */
#define IOP_D_STREAM_DATA 0x0400 /* the cost ceiling may turn it off: data of a stream */
#define IOP_D_STREAM_BYTES 0x0800 /* the same: one byte of it */
#define IOP_D_DATA 0x1000       /* moves data and changes nothing else: the filters by duration and size may leave it out */
#define IOP_D_OF_FILE 0x2000    /* system call on the files behind its descriptors: the filter by file may leave it out */
#define IOP_D_ADDRESS 0x4000    /* system call: changes the addresses of the socket in fd_arg */
#define IOP_D_AIO 0x8000        /* system call of libaio's: io_setup, io_submit, io_getevents, … */

#define IOP_ARRAY_MAX 8         /* elements of an array that are sent at most */

/* Where a process has the constants of a layer: by process in a BPF map, until they were sent. */
#define IOP_MAX_CONSTANTS 96
struct iop_constants {
	__u32 layer;            /* index over all tables */
	__u32 n;
	__u64 address[IOP_MAX_CONSTANTS];       /* of 64-bit values, 0: not found */
};

#define IOP_NO_FD 0xff

/* iop_desc.has: most functions have none of these, and their calls are not searched for them */
#define IOP_HAS_OUT 0x01        /* OUT_* arguments */
#define IOP_HAS_IOV 0x02        /* IOV arguments */
#define IOP_HAS_ARRAYS 0x04     /* LONGS or INTS arguments: they go with the first record */
#define IOP_HAS_LATE 0x08       /* OUT_STRING, OUT_LONGS or OUT_INTS arguments: everything is sent with the last record */
#define IOP_HAS_STRINGS 0x10    /* STRING arguments */
#define IOP_HAS_CONSTANTS 0x20  /* arguments that may be constants which the library makes when it runs: those are sent before */
#define IOP_HAS_PAYLOAD (IOP_HAS_ARRAYS | IOP_HAS_LATE | IOP_HAS_STRINGS)       /* something stands behind the arguments */

#define IOP_HEAP_HANDLES 4      /* positions that iop_desc.heap_handle can name */

struct iop_desc {
	__u16 flags;            /* IOP_D_* */
	__u8 nargs;             /* captured arguments */
	__u8 fd_arg;            /* index in arg[] of the descriptor that a system call uses, IOP_NO_FD if none */
	struct {
		__u8 source;    /* position among the integer arguments: 0..5 registers, 6.. stack */
		__u8 kind;      /* enum iop_arg_kind */
		__u8 offset;    /* bytes from where an IN or OUT argument points to its value */
	} arg[IOP_MAX_ARGS];
	__u8 fd_arg2;           /* a second descriptor (sendfile, copy_file_range), IOP_NO_FD if none */
	__u8 has;               /* IOP_HAS_*: arguments that need more than a register */
	__u8 layer;             /* index of its layer, for the counts of what is left out */
	__u8 moved;             /* how its result tells the bytes that it moved: IOP_MOVED_* */
	__u8 requests;          /* IOP_R_* */
	__u8 unwind;            /* with IOP_D_UNWIND: enum iop_unwind */
	__u8 heap_handle;       /* position of a handle that is none if it points into the caller's stack, plus 1; 0: has none */
	__u8 pad;
};
_Static_assert(sizeof(struct iop_desc) == 36, "iop_desc");

/* How a function leaves frames without a return. */
enum iop_unwind {
	IOP_UNWIND_WALKS,       /* an unwinder's entry: the return addresses of all open frames are given back first */
	IOP_UNWIND_JUMPS,       /* longjmp: leaves the frames below the stack pointer in its first argument */
	IOP_UNWIND_CATCHES,     /* an exception was caught: the frames below the stack pointer were left */
};

/* iop_desc.moved */
#define IOP_MOVED_BYTES 0x01    /* the result is their number, negative: failed */
#define IOP_MOVED_ITEMS 0x02    /* … of items */
#define IOP_MOVED_CHAR 0x03     /* one, unless the result is EOF */
#define IOP_MOVED_HOW 0x03      /* the bits of the above; 0: not known */
#define IOP_MOVED_INT 0x04      /* the result is a 32-bit int */
#define IOP_MOVED_READ 0x08
#define IOP_MOVED_WRITE 0x10
#define IOP_MOVED_SIZE_SHIFT 5  /* above: of IOP_MOVED_ITEMS, the index in arg[] of an item's size */

/* Filters that leave calls out in the kernel. */
enum iop_filter {
	IOP_FILTER_FILE,        /* by what a descriptor refers to */
	IOP_FILTER_DURATION,
	IOP_FILTER_BYTES,
	IOP_FILTER_STREAMS,     /* stream calls without children, which are counted only */
	IOP_FILTER_REPEATED,    /* tests of requests that found what the thread's one before found; always on */
	IOP_FILTERS,
};

/* What one filter left out of one layer. */
struct iop_left_out {
	__u64 calls;
	__u64 read_bytes, written_bytes;        /* moved, where known */
	__u64 unknown;                          /* calls that moved data, nobody knows how much */
	__u64 time_ns;
};

/* A path prefix of the filter by file, as paths are sent: "b\0a\0" for /a/b. Paths under it end so. */
#define IOP_MAX_PATH_FILTERS 16
#define IOP_PATH_FILTER_LEN 508
struct iop_path_filter {
	__u16 len;
	__u16 exclude;
	char tail[IOP_PATH_FILTER_LEN];
};

/* iop_desc.requests: what a call has to do with the requests of non-blocking operations; more is in its struct iop_request_desc. */
#define IOP_R_TAKES 0x01        /* waits for, tests, cancels or frees requests */
#define IOP_R_FILTER 0x02       /* … of which only those count that a call with IOP_R_ISSUES has made: others are not recorded */
#define IOP_R_ISSUES 0x04       /* makes a request that calls with IOP_R_FILTER wait for */
#define IOP_R_DEMAND 0x08       /* a call of a layer that has such functions: asks for their probes */
#define IOP_R_SUBMITS 0x10      /* begins several operations, given as an array of pointers to control blocks */
#define IOP_R_TESTS 0x20        /* may be called again and again until something has ended */

/* Where a call has its requests: indexes in args[], IOP_NO_ARG if it has no such argument. */
#define IOP_NO_ARG 0xff
struct iop_request_desc {
	__u8 requests;          /* pointer to the first request, or to where the one is put that is made */
	__u8 request;           /* the request itself */
	__u8 count;             /* number of requests; none: one */
	__u8 status;            /* pointer to the status, or to the first of as many as requests */
	__u8 indices, outcount; /* pointers: which requests the statuses belong to, and their number */
	__u8 done;              /* pointer to an int: whether the request is done, where it is not taken away */
	__u8 many;              /* there is one status for each request */
	__u8 width;             /* bytes of a request, where the library's ABI does not say */
	__u8 status_size, status_bytes, status_cancelled;       /* size of a status, and what is where in it */
	__u8 block_fd, block_opcode, block_bytes, block_offset; /* what is where in a control block */
	__u8 narrow_status_size, narrow_status_cancelled;       /* of a status, where requests are 32-bit numbers; its bytes are at 0 */
	__u8 pad[2];
};
_Static_assert(sizeof(struct iop_request_desc) == 20, "iop_request_desc");

#define IOP_MAX_PROBES 4096
#define IOP_SYSCALL_SEALS_CODE 0xfffe   /* instead of a row: of mprotect(2), where programs are held until they are probed */

/* A probe's cookie is its row. Of functions that each process has links of its own to, until there are too many processes for
 * that, a bit tells the one kind of link from the other: they see the same calls, and one of them must ignore them. */
#define IOP_COOKIE_ROW 0xffff
#define IOP_COOKIE_FOR_ALL 0x10000
#define IOP_COOKIE_OWN 0x20000
#define IOP_COOKIE_NARROW 0x40000       /* the library's handles are 32-bit numbers: MPICH */
#define IOP_COOKIE_EXIT 0x80000         /* of the two probes behind a prologue, the one where the function ends */
#define IOP_COOKIE_SLOT_SHIFT 20        /* the recording's slot: links of others see the same calls, where they are for all */
#define IOP_COOKIE_ENTRY_ONLY 0x4000000 /* at a place where the return is not to be observed */
#define IOP_COOKIE_LIBRARY_SHIFT 27     /* the library's number in the recording: whether links for all count is decided for each */
#define IOP_MAX_LIBRARIES_FOR_ALL 31    /* numbers begin with 1; those that have none (0) keep links of their own */
#define IOP_COOKIE_FRAME_SHIFT 32       /* above: behind a prologue, bytes from the stack pointer to the return address */

/* Since when calls of a process are recorded at their entry only. */
enum iop_entry_only { IOP_FROM_NOW = 1, IOP_FROM_NEXT_EXEC = 2 };

#endif
