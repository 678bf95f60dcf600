/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the BPF programs need to know about one probed function. Compiled from a row of probes/, kept in a BPF array, found by the
 * probe's cookie (library functions) or by the system call's number. Everything else about an API stays in user space.
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
	IOP_ARG_OUT_MMSG,       /* pointer to struct mmsghdrs; at return, the bytes of the first ret messages are added up */
	IOP_ARG_LONGS,          /* array of 64-bit values of unknown length: its first elements are sent */
	IOP_ARG_INTS,           /* array of 32-bit ints, likewise */
	IOP_ARG_OUT_STRING,     /* a string or array that the call fills in */
	IOP_ARG_OUT_LONGS,
	IOP_ARG_OUT_INTS,
	IOP_ARG_FLOCK, /* fcntl: pointer to a struct flock; one 64-bit word of it, read at entry if args[1] is a lock command */
	IOP_ARG_IOV,            /* struct iovec array whose element count is the next argument; the sum of the lengths is sent */
	IOP_ARG_OUT_LENGTH,     /* a C string whose length is sent, read at return; unreadable beyond 256 KiB */
	IOP_ARG_OUT_LINE,       /* the same of a line (fgets); unreadable unless it ends with a newline or fills its room */
	IOP_ARG_OUT_PUTS,       /* the length of a string and of a newline behind it */
	IOP_ARG_PIECES,         /* array of pointers to arrays of 64-bit values: their products are sent (struct iop_pieces) */
	IOP_ARG_IDS,            /* array of 32-bit ids: the same without products */
};

/* iop_desc.flags */
#define IOP_D_NO_RETURN 0x0001  /* no return probe (calls user code, or does not return): one CALL at entry with ret 0 */
#define IOP_D_NESTED 0x0002     /* recorded only while another recorded call is open */
#define IOP_D_STRINGS 0x0004    /* has STRING arguments: send ENTER at once */
#define IOP_D_MAKES_FD 0x0008   /* system call: a return value >= 0 is a new descriptor: send FD before the call's record */
#define IOP_D_CLOSES_FD 0x0010  /* system call: closes the descriptor in fd_arg */
#define IOP_D_CHDIR 0x0020      /* system call: send CWD on success */
#define IOP_D_NEEDS_FD 0x0040   /* system call: recorded only if fd_arg is >= 0 (mmap) */
#define IOP_D_UNWIND 0x0080     /* leaves frames without a return, see enum iop_unwind; sends no record of its own */
/* system call: on success the descriptor in ret refers to another file (dup2, dup3): it is closed and described again */
#define IOP_D_REPLACES_FD 0x0100
#define IOP_D_CLOSES_RANGE 0x0200 /* system call close_range: closes the descriptors from args[0] to args[1] */
#define IOP_D_STREAM_DATA 0x0400 /* moves data of a stream: the overhead limit may detach its probe */
#define IOP_D_STREAM_BYTES 0x0800 /* moves one byte of a stream: detached first */
#define IOP_D_DATA 0x1000       /* moves data and has no other effect: the filters by duration and size may exclude it */
#define IOP_D_OF_FILE 0x2000    /* system call on the files behind its descriptors: the filter by file may exclude it */
#define IOP_D_ADDRESS 0x4000    /* system call: changes the addresses of the socket in fd_arg */
#define IOP_D_AIO 0x8000        /* system call of libaio: io_setup, io_submit, io_getevents, … */

#define IOP_ARRAY_MAX 8         /* at most so many elements of an array are sent */

/* iop_desc.arg[].offset of a LINE */
#define IOP_LINE_ROOM 0x80      /* the next captured argument is its room, the terminating NUL included */
#define IOP_LINE_KEPT 0x0f      /* a CALL in which it could be read has only so many arguments; 0: all */

/* Payload of PIECES and IDS arguments: successive pieces of the same variable. elements[n - 1] is the sum over the pieces of the
 * products of the first n values; the number of dimensions is not known here. */
struct iop_pieces {
	__s32 variable;         /* 0 if the call has no array of variables */
	__u32 values;           /* so many values of each piece could be read */
	__u64 pieces;
	__u64 elements[IOP_ARRAY_MAX];
};
_Static_assert(sizeof(struct iop_pieces) == 80, "iop_pieces");
/* iop_desc.arg[].offset of these: captured arguments with the number of pieces and the array of variables, IOP_PIECES_NONE */
#define IOP_PIECES_VARIABLES_SHIFT 4
#define IOP_PIECES_NONE 15

/* Addresses of a layer's constants in a process: kept in a BPF map by process until they have been sent. */
#define IOP_MAX_CONSTANTS 96
struct iop_constants {
	__u32 layer;            /* index over all tables */
	__u32 n;
	__u64 address[IOP_MAX_CONSTANTS];       /* of 64-bit values, 0: not found */
};

#define IOP_NO_FD 0xff

/* iop_desc.has: most functions have none of these, and the passes over their arguments are skipped. */
#define IOP_HAS_OUT 0x01        /* OUT_* arguments */
#define IOP_HAS_IOV 0x02        /* IOV arguments */
#define IOP_HAS_ARRAYS 0x04     /* LONGS or INTS arguments: sent with the first record */
#define IOP_HAS_LATE 0x08       /* OUT_STRING, OUT_LONGS or OUT_INTS arguments: everything is sent with the last record */
#define IOP_HAS_STRINGS 0x10    /* STRING arguments */
#define IOP_HAS_HEADER 0x40     /* reads a file's header: contents that calls inside read are sent if they begin with its magic */
#define IOP_HAS_CONSTANTS 0x20  /* arguments that may be constants which the library creates at run time: those are sent first */
#define IOP_HAS_PAYLOAD (IOP_HAS_ARRAYS | IOP_HAS_LATE | IOP_HAS_STRINGS)       /* a payload follows the arguments */

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
	__u8 layer;             /* index of its layer, for the counts of filtered calls */
	__u8 moved;             /* how to derive the number of bytes moved from the result: IOP_MOVED_* */
	__u8 requests;          /* IOP_R_* */
	__u8 unwind;            /* with IOP_D_UNWIND: enum iop_unwind */
	/* 1 + position of a handle argument that is not a handle if it points into the caller's stack; 0: no such argument */
	__u8 heap_handle;
	__u8 covers;            /* 1 + index of the layer that has this layer's variables; 0: none */
	__u8 inner;             /* inside a call that covers this layer: enum iop_inner */
	__u8 contents;          /* where a call has a buffer whose contents may be sent: IOP_CONTENTS_*; 0: it has none */
	__u8 buffer;            /* 1 + position of a system call's only buffer of data among the first four arguments; 0: none */
	__u8 pad[1];
	__u32 magic;            /* with IOP_HAS_HEADER: how a header begins: one to four characters, the first in the lowest byte */
};
_Static_assert(sizeof(struct iop_desc) == 44, "iop_desc");

/* What a call teaches inside a call of a layer above, which knows it already: a netCDF library asks HDF5 for the shape of a
 * variable before each transfer. */
enum iop_inner {
	IOP_INNER_RECORDED,
	IOP_INNER_SKIPPED,      /* nothing that is not known otherwise */
	IOP_INNER_AT_ENTRY,     /* its return says nothing: the caller does not go on if it fails */
	/* outside of such calls the beginning of direct use, for which the skipped ones must be probed: a file, a dataspace */
	IOP_INNER_BEGINS, IOP_INNER_BEGINS_SPACE,
};

/* iop_desc.contents */
#define IOP_CONTENTS_AT 0x07    /* 1 + position of the buffer among the integer arguments; its length is the next argument */
#define IOP_CONTENTS_OFFSET 0x80        /* the argument after the length is the offset in the file */

/* How a function leaves frames without a return. */
enum iop_unwind {
	IOP_UNWIND_WALKS,       /* an unwinder's entry: first the return addresses of all open frames are restored */
	IOP_UNWIND_JUMPS,       /* longjmp: leaves the frames below the stack pointer in its first argument */
	IOP_UNWIND_CATCHES,     /* an exception was caught: the frames below the stack pointer were left */
};

/* iop_desc.moved */
#define IOP_MOVED_BYTES 0x01    /* the result is the number of bytes; negative: failed */
#define IOP_MOVED_ITEMS 0x02    /* the result is a number of items */
#define IOP_MOVED_CHAR 0x03     /* one byte, unless the result is EOF */
#define IOP_MOVED_HOW 0x03      /* mask of the above; 0: unknown */
#define IOP_MOVED_INT 0x04      /* the result is a 32-bit int */
#define IOP_MOVED_READ 0x08
#define IOP_MOVED_WRITE 0x10
#define IOP_MOVED_SIZE_SHIFT 5  /* above these bits: with IOP_MOVED_ITEMS, the index in arg[] of the item size */

/* Filters that the BPF programs apply. */
enum iop_filter {
	IOP_FILTER_FILE,        /* by the file, its path or its type */
	IOP_FILTER_DURATION,
	IOP_FILTER_BYTES,
	IOP_FILTER_STREAMS,     /* stream calls without children, counted only */
	IOP_FILTER_REPEATED,    /* repeated tests of the same requests with the same result; always on */
	IOP_FILTERS,
};

/* Calls of one layer that one filter excluded. */
struct iop_excluded {
	__u64 calls;
	__u64 read_bytes, written_bytes;        /* moved, where known */
	__u64 unknown;                          /* calls that moved an unknown number of bytes */
	__u64 time_ns;
};

/* Whose calls these are: id of the recording, process. */
struct iop_excluded_key { __u32 recording, tgid, layer, filter; };
#define IOP_MAX_EXCLUDED 16384  /* of these over all recordings; calls beyond are counted without their process */

/* A path prefix of the filter by file, in the form in which paths are sent: "b\0a\0" for /a/b. A path under the prefix ends with
 * it. */
#define IOP_MAX_PATH_FILTERS 16
#define IOP_PATH_FILTER_LEN 508
struct iop_path_filter {
	__u16 len;
	__u16 exclude;
	char tail[IOP_PATH_FILTER_LEN];
};

/* iop_desc.requests: the role of a call for requests of non-blocking operations; details in its struct iop_request_desc. */
#define IOP_R_TAKES 0x01        /* waits for, tests, cancels or frees requests */
#define IOP_R_FILTER 0x02       /* … and is recorded only if one of them was made by a call with IOP_R_ISSUES */
#define IOP_R_ISSUES 0x04       /* makes a request that calls with IOP_R_FILTER wait for */
#define IOP_R_DEMAND 0x08       /* belongs to a layer that has such functions: requests their probes */
#define IOP_R_SUBMITS 0x10      /* begins several operations, given as an array of pointers to control blocks */
#define IOP_R_TESTS 0x20        /* may be called repeatedly until a request has completed */
#define IOP_R_AT_ENTRY 0x40     /* another thread may carry out what it begins before it returns: sent at the entry */

/* Where the requests of a call are: indexes in args[], IOP_NO_ARG if it has no such argument. */
#define IOP_NO_ARG 0xff
struct iop_request_desc {
	__u8 requests;          /* pointer to the first request, or to the place for the request that the call makes */
	__u8 request;           /* the request itself, passed by value */
	__u8 count;             /* number of requests; without this argument: one */
	__u8 status;            /* pointer to the status, or to an array with one status per request */
	__u8 indices, outcount; /* pointers: which requests the statuses belong to, and their number */
	__u8 done;              /* pointer to an int that is set when the request has completed, for calls that keep the request */
	__u8 many;              /* there is one status for each request */
	__u8 width;             /* size of a request in bytes, where the library's ABI does not define it */
	__u8 status_size, status_bytes, status_cancelled;       /* size of a status, and offsets in it */
	__u8 block_fd, block_opcode, block_bytes, block_offset; /* offsets in a control block */
	/* the same where requests are 32-bit numbers; the byte count is at offset 0 */
	__u8 narrow_status_size, narrow_status_cancelled;
	__u8 pad[2];
};
_Static_assert(sizeof(struct iop_request_desc) == 20, "iop_request_desc");

#define IOP_MAX_PROBES 4096
#define IOP_SYSCALL_SEALS_CODE 0xfffe   /* pseudo row for mprotect(2), where programs are held until their probes are in place */

/* A probe's cookie holds its row. Functions have one link per process until there are too many processes, then one link for
 * all. During the change both kinds see the same calls; a bit in the cookie distinguishes them, so that one of them can
 * ignore the call. */
#define IOP_COOKIE_ROW 0xffff
#define IOP_COOKIE_FOR_ALL 0x10000
#define IOP_COOKIE_OWN 0x20000
#define IOP_COOKIE_NARROW 0x40000       /* the library's handles are 32-bit numbers: MPICH */
#define IOP_COOKIE_EXIT 0x80000         /* the second of the two probes behind a prologue, at the function's end */
#define IOP_COOKIE_WALKS IOP_COOKIE_EXIT        /* of unwinders' links, which have no exits: enum iop_unwind is IOP_UNWIND_WALKS */
#define IOP_COOKIE_SLOT_SHIFT 20 /* the recording's slot: a link for all processes also sees calls of other recordings' processes */
#define IOP_COOKIE_ENTRY_ONLY 0x4000000 /* placed where the return must not be observed */
/* the library's number in the recording: whether its links for all are in use is decided per library */
#define IOP_COOKIE_LIBRARY_SHIFT 27
#define IOP_MAX_LIBRARIES_FOR_ALL 31    /* numbers begin with 1; a library without a number (0) keeps links per process */
/* above these bits: for a probe behind a prologue, bytes from the stack pointer to the return address */
#define IOP_COOKIE_FRAME_SHIFT 32

/* From when on the calls of a process are recorded at their entry only. */
enum iop_entry_only { IOP_FROM_NOW = 1, IOP_FROM_NEXT_EXEC = 2 };

#endif
