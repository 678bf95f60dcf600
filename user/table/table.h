/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probe tables: the text in probes/ becomes rows, rows become kernel descriptors. The only place that knows an API is the text;
 * the model reads the meaning of a call from its row's operation and roles. The grammar is described in probes/README.md.
 */
#ifndef IOPROBE_TABLE_H
#define IOPROBE_TABLE_H

#include <ioprobe/descriptor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function does, as the model sees it. */
enum table_op {
	OP_REGION,      /* nothing but Enter and Leave */
	OP_OPEN,        /* makes a handle of an existing object */
	OP_CREATE,      /* makes a handle, may make the object */
	OP_CLOSE,       /* ends a handle */
	OP_DUP,         /* a further handle of the same object */
	OP_READ, OP_WRITE,
	OP_COPY,        /* read on HANDLE and write on HANDLE2 (sendfile, copy_file_range, splice) */
	OP_SEEK,
	OP_SYNC,
	OP_TRUNCATE, OP_STAT, OP_MKDIR, OP_META,        /* metadata; Enter and Leave */
	OP_DELETE,      /* of PATH: unlink, rmdir, MPI_File_delete */
	OP_RENAME,      /* of PATH to PATH2 */
	OP_LOCK, OP_UNLOCK, OP_TRYLOCK,
	OP_CONTROL,     /* fcntl: what it does is in CMD */
	OP_MAP,         /* a file mapped to memory */
	OP_ADDRESS,     /* HANDLE, a socket, gets an address or a peer: bind, connect, listen */
	OP_QUEUE, OP_REAP,      /* libaio, io_uring: hands operations to the kernel, collects those that ended */
	OP_CHDIR,
	OP_WAIT, OP_TEST, OP_CANCEL, OP_FREE,   /* of requests: what becomes of non-blocking operations */
	OP_SUBMIT,      /* begins several non-blocking operations (lio_listio) */
	OP_COMM,        /* makes a communicator out of another one, of the same members unless MOD_PART */
	OP_UNWIND, OP_JUMP, OP_CATCH,   /* internal, never recorded: an unwinder's entry, longjmp, the end of an exception */
	OP_LEARN,       /* answered from memory: no Enter and Leave, but what it tells of shapes and names is kept */
};

/* Modifiers of an operation (table_row.mods). */
#define MOD_COLLECTIVE 0x0001
#define MOD_NONBLOCKING 0x0002  /* begins an operation that another call completes */
#define MOD_COMPLETES 0x0004    /* _end of a split collective: completes what the handle's _begin began */
#define MOD_NESTED 0x0008       /* recorded only inside another recorded call */
#define MOD_CALLBACK 0x0010     /* calls user code: no return probe */
#define MOD_AT_ZERO 0x0020      /* close: only if the result is 0 (H5Idec_ref) */
#define MOD_DELETES 0x0040      /* close deletes the file where the open asked for it */
#define MOD_RANGE 0x0080        /* close: of the descriptors from HANDLE to HANDLE2 (close_range) */
#define MOD_ON_DEMAND 0x0100    /* probed in a process only while it uses the layer, recorded only for requests of its operations */
#define MOD_SINGLE 0x0200       /* moves one element of VARIABLE */
#define MOD_WHOLE 0x0400        /* moves, or selects, all of them */
#define MOD_NONE 0x0800         /* selects none */
#define MOD_PART 0x1000         /* comm: of some of the members, by color or group */
#define MOD_NODE 0x2000         /* … of those on one node */
#define MOD_NATIVE 0x4000       /* makes of TYPE what it is in memory */
#define MOD_RENAMES 0x10000     /* names in HANDLE's file may lead to other objects from now on */
#define MOD_POLLED 0x8000       /* no call. queue: the kernel's polling thread takes an operation; meta: one on a descriptor ends */

/* What an argument is to the model. */
enum table_role {
	ROLE_NONE,      /* not captured ("-") */
	ROLE_PATH, ROLE_PATH2,
	ROLE_DIRFD, ROLE_DIRFD2,        /* descriptor that a relative PATH or PATH2 starts from */
	ROLE_HANDLE,    /* the handle operated on, or with OUT the one made */
	ROLE_HANDLE2,   /* destination of a copy, wanted number of dup2 */
	ROLE_PARENT,    /* the handle below which an object is opened (H5Dcreate's loc_id) */
	ROLE_NAME,      /* name of an object inside a file */
	ROLE_BYTES,     /* requested bytes */
	ROLE_SIZE, ROLE_ITEMS,          /* fread: requested bytes are their product */
	ROLE_OFFSET, ROLE_WHENCE,
	ROLE_FLAGS,     /* O_* or a library's own open flags */
	ROLE_STREAM_MODE,               /* fopen's "w+" */
	ROLE_COMM, ROLE_COMM_OUT,
	ROLE_COLOR, ROLE_KEY, ROLE_GROUP,       /* who a new communicator's members are, and their order */
	ROLE_REQUEST, ROLE_COUNT,
	ROLE_DATATYPE,  /* with an offset: the size of one, in bytes */
	ROLE_STATUS,    /* with an offset: the bytes that were moved */
	ROLE_VARIABLE,  /* netCDF variable id */
	ROLE_EDGES,     /* array: how many elements along each dimension (netCDF's count) */
	ROLE_DIMS,      /* array: the variable's dimensions by id, or a dataspace's by length */
	ROLE_NDIMS,     /* how many they are */
	ROLE_DIM, ROLE_LENGTH,          /* a dimension's id, and its length */
	ROLE_TYPE,      /* of values: netCDF's nc_type, HDF5's type id */
	ROLE_TYPE2,
	ROLE_SPACE, ROLE_SPACE2,        /* HDF5's dataspaces: in memory, in the file */
	ROLE_TRANSFER,  /* HDF5's property list of a transfer */
	ROLE_LOCATION,  /* name, below PARENT, of the object that NAME belongs to */
	ROLE_START, ROLE_STRIDE,        /* arrays: the first element of a hyperslab, distances between EDGES */
	ROLE_BLOCK,     /* array: how many elements in each of EDGES, along each dimension */
	ROLE_IOV, ROLE_IOVCNT,
	ROLE_CMD, ROLE_ARG,
	ROLE_ADDR,      /* any other value worth keeping */
	ROLE_FD,        /* descriptor that a handle of a higher layer is made on (fdopen), or from (accept) */
	ROLE_MOVED,     /* the bytes that were moved, where the result is something else */
	ROLE_LOCK,      /* type (low 16 bits) and whence (next 16) of a record lock; OFFSET and BYTES are its range */
	ROLE_REQUESTS,  /* address of the first of COUNT requests, or of the only one */
	ROLE_STATUSES,  /* address of as many statuses; STATUS without "out:": of one */
	ROLE_INDICES, ROLE_OUTCOUNT,    /* addresses: which requests have ended, their number */
	ROLE_DONE,      /* address of an int: whether REQUEST has ended */
	ROLE_LAST = ROLE_DONE,
};

/* What the return value is. Whether it tells success is the layer's business (table_layer.success) for RESULT_STATUS. */
enum table_result {
	RESULT_VOID, RESULT_STATUS, RESULT_HANDLE, RESULT_BYTES, RESULT_ITEMS, RESULT_OFFSET,
	RESULT_POINTER, /* NULL is failure */
	RESULT_CHAR,    /* one byte moved, EOF is failure (fgetc, fputc) */
	RESULT_TYPE, RESULT_SPACE,      /* a type or dataspace that was made */
	RESULT_SIZE,    /* bytes of TYPE */
	RESULT_SELECTED, RESULT_EXTENT, /* elements of SPACE: selected, all */
	RESULT_NDIMS,   /* dimensions of SPACE */
	RESULT_VARIABLE,        /* > 0: TYPE is of variable length */
	RESULT_CLASS,   /* of TYPE (H5T_class_t) */
	RESULT_EQUAL,   /* > 0: TYPE and TYPE2 are equal */
	RESULT_TRANSFER,        /* a property list that was made */
	RESULT_REFERENCES,      /* how often HANDLE must be closed now */
	RESULT_COUNT,   /* >= 0 is success, not a number of bytes (fputs, fscanf) */
};

enum table_success { SUCCESS_ZERO, SUCCESS_NONNEGATIVE, SUCCESS_NONNULL };
enum table_class { CLASS_SERIAL, CLASS_PARALLEL };
enum table_handle_kind { HANDLE_FD, HANDLE_ID, HANDLE_POINTER };

/* Flags of a paradigm's own open argument that map to OTF2's, e.g. "mode WRITE 0x1". */
struct table_flag {
	char name[24];          /* READ_ONLY WRITE_ONLY READ_WRITE CREATE EXCL TRUNC APPEND DELETE_ON_CLOSE ACCESS_MASK, … */
	uint64_t value;
};

/* A predefined communicator: by exported symbol (Open MPI) or by value (MPICH). */
enum table_comm_kind { TABLE_COMM_WORLD, TABLE_COMM_SELF, TABLE_COMM_NULL, TABLE_COMM_KINDS };
struct table_comm {
	enum table_comm_kind kind;
	char symbol[64];        /* "" if none */
	uint64_t value;         /* valid if has_value */
	bool has_value;
};

/* One of the names of a list: "{LIST}" in a function's name stands for each in turn. */
struct table_item {
	char list[16], text[20];
	uint16_t element_bytes; /* of what functions of this name move; 0 unknown */
};

/* A predefined type of values: by number (netCDF), or the number that a symbol of the library has when it runs (HDF5). */
struct table_type { uint64_t value, bytes; char symbol[32]; };       /* symbol "": it is the value */

/* A number that a library of the known ABI has at this offset of an exported object. */
struct table_abi { char symbol[64]; uint64_t offset, value; };

struct table_layer {
	char name[24];          /* netCDF, HDF5, MPI-IO, MPI, ISOC, POSIX, …: unique */
	char paradigm[24];      /* OTF2 identification; "" for layers without handles (MPI, internal) */
	char paradigm_name[48]; /* for readers: "POSIX I/O" */
	bool os;                /* OTF2_IO_PARADIGM_FLAG_OS */
	bool syscalls;          /* rows are system calls */
	bool sockets;           /* … and descriptors that are sockets are its handles */
	bool off;               /* not wanted in this recording: no probes (table_set_select) */
	bool per_process;       /* everybody maps its library and calls it often (libc): probes only inside the target processes */
	bool sets_errno;        /* a failed call's error is that of the last system call that failed in it */
	enum table_class klass; /* of the paradigm; where the library's build decides, this is SERIAL and one of these is set: */
	char parallel_symbol[64];       /* the library is a parallel build if it defines this symbol */
	char parallel_needed[64];       /* … if one of its DT_NEEDED names matches this pattern */
	enum table_success success;
	enum table_handle_kind handle_kind;
	bool handle_int;        /* handles are 32-bit ints */
	bool handle_heap;       /* pointers into the caller's stack are no handles */
	uint64_t handle_mask;   /* bits of a handle that name the file (netCDF: 0xffff0000), all ones by default */
	char (*libraries)[64];  /* file name patterns, fnmatch(3) */
	size_t nlibraries;
	struct table_flag *flags;
	size_t nflags;
	struct table_comm *comms;
	size_t ncomms;
	bool on_demand;         /* it has rows with MOD_ON_DEMAND */
	struct table_abi *abi;  /* all must hold for arguments with an offset to be believed */
	size_t nabi;
	char abi_layer[24];     /* "": the offsets of arguments mean what abi[] tells of this layer's library; else that layer's */
	char narrow_symbol[64]; /* a library that defines it has handles that are 32-bit numbers (MPICH); "" if none has */
	uint8_t narrow_status_size, narrow_status_cancelled;    /* of a status there, whose first 64 bits tell the bytes that were moved */
	uint8_t status_size, status_bytes, status_cancelled;    /* of a status of that ABI; size 0: unknown */
	uint8_t block_fd, block_opcode, block_bytes, block_offset;      /* offsets in a struct aiocb */
	struct table_item *items;
	size_t nitems;
	struct table_type *types;
	size_t ntypes;
	char variables_in[24];  /* layer whose datasets are this one's variables, of the same number of dimensions; "" */
	char version_symbol[64];        /* of an array of char with the library's version; "" if none */
};

struct table_arg {
	enum table_role role;
	enum iop_arg_kind kind;
	uint8_t offset;         /* bytes from where an IN or OUT argument points to its value */
	uint8_t position;       /* among the function's integer arguments, UINT8_MAX for a floating-point one */
	int8_t capture;         /* index in the record's args[], -1 if not captured */
};

#define TABLE_MAX_ARGS 16
struct table_row {
	char name[64];
	uint16_t id;            /* index over all tables */
	uint16_t layer;         /* index in table_set.layers */
	enum table_op op;
	unsigned mods;
	enum table_result result;
	bool result_int;        /* the return value is a 32-bit int: only the low half of the record's ret counts, sign-extended */
	uint16_t element_bytes; /* of one value in memory, told by the function's name; 0 unknown */
	uint32_t since, before; /* versions of the library that have the function (table_version); 0: no such bound */
	bool parallel_only;     /* only parallel builds of the library have it */
	int8_t std_stream;      /* the handle is the process' stream: 0 stdin, 1 stdout; -1: it is an argument, or there is none */
	uint8_t nargs;
	struct table_arg args[TABLE_MAX_ARGS];
	bool off;               /* not wanted in this recording (table_set_select) */
	int syscall_nr;         /* of this machine, -1 if it has none, or the row is no system call */
	unsigned line;          /* in its source */
};

struct table_source { char *name, *text; };

struct table_set {
	struct table_layer *layers;
	size_t nlayers;
	struct table_row *rows;
	size_t nrows;
	struct table_source *sources;   /* as read: they go into the spool */
	size_t nsources;
};

void table_set_init(struct table_set *set);
void table_set_deinit(struct table_set *set);

/* Adds the tables of one text. Returns 0, or -EINVAL with one line "NAME:LINE:COLUMN: what is wrong" in err, or -ENOMEM, -E2BIG.
 * After an error the set is unchanged. A layer that exists already may be continued ("layer NAME" alone). */
int table_parse(struct table_set *set, const char *source_name, const char *text, char *err, size_t err_len);

/* The same for a file: -errno if it cannot be read, err names file, action and reason. */
int table_parse_file(struct table_set *set, const char *path, char *err, size_t err_len);

/* The tables of probes/ that are linked into the program. */
int table_parse_builtin(struct table_set *set, char *err, size_t err_len);

/* A table of probes/optional, which is used when it is asked for: "sockets". */
int table_parse_optional(struct table_set *set, const char *name, char *err, size_t err_len);

/* Leaves only these layers on: names separated by commas, whatever their case and hyphens ("posix,mpiio"). Layers that nobody
 * records (unwinders) stay. Returns 0, or -EINVAL with one line in err. */
int table_set_select(struct table_set *set, const char *names, char *err, size_t err_len);

/* What the kernel side must know of a row. */
void table_row_descriptor(const struct table_set *set, const struct table_row *row, struct iop_desc *desc);

/* Of functions that leave frames without a return (unwinders, longjmp): probed, never recorded, and needed by all layers. */
bool table_row_is_internal(const struct table_row *row);
bool table_layer_is_internal(const struct table_set *set, size_t layer);

/* IOP_HAS_*: what a function with an argument of this kind has. */
unsigned table_kind_has(enum iop_arg_kind kind);

/* Where it has its requests; false if it has none that the kernel side must look at. */
bool table_row_requests(const struct table_set *set, const struct table_row *row, struct iop_request_desc *desc);

/* IOP_D_STREAM_DATA, IOP_D_STREAM_BYTES or 0: what the cost ceiling may turn off. */
unsigned table_row_stream_flag(const struct table_set *set, const struct table_row *row);

/* The captured index of the first argument with this role, -1 if the row has none. */
int table_row_arg(const struct table_row *row, enum table_role role);

/* NULL if there is none. */
const struct table_row *table_find(const struct table_set *set, const char *layer, const char *function);
const char *table_op_name(enum table_op op);

/* "1.10.8", as a number that grows with the version; 0 if the text does not begin with a number. */
uint32_t table_version(const char *text);

/* Whether a library of this version (table_version; 0: unknown) is expected to have the row's function: then it is missing if it is not
 * there. Of a library of unknown version only functions without bounds are expected. */
bool table_row_expected(const struct table_row *row, uint32_t version, bool parallel);

#endif
