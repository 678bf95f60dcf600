/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probe tables: the text in probes/ becomes rows, rows become descriptors for the BPF programs. Only the text contains knowledge of
 * an API; the model takes the meaning of a call from its row's operation and roles. The grammar is described in probes/README.md.
 */
#ifndef IOPROBE_TABLE_H
#define IOPROBE_TABLE_H

#include <ioprobe/descriptor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Operation of a function, in terms of the model. */
enum table_op {
	OP_REGION,      /* only Enter and Leave */
	OP_OPEN,        /* creates a handle of an existing object */
	OP_CREATE,      /* creates a handle, may create the object */
	OP_CLOSE,       /* closes a handle */
	OP_DUP,         /* creates another handle of the same object */
	OP_READ, OP_WRITE,
	OP_COPY,        /* read on HANDLE and write on HANDLE2 (sendfile, copy_file_range, splice) */
	OP_SEEK,
	OP_SYNC,
	OP_TRUNCATE, OP_STAT, OP_MKDIR, OP_META,        /* metadata; Enter and Leave */
	OP_DELETE,      /* deletes PATH: unlink, rmdir, MPI_File_delete */
	OP_RENAME,      /* renames PATH to PATH2 */
	OP_LOCK, OP_UNLOCK, OP_TRYLOCK,
	OP_CONTROL,     /* fcntl: CMD decides */
	OP_MAP,         /* maps a file to memory */
	OP_ADDRESS,     /* gives an address or a peer to HANDLE, a socket: bind, connect, listen */
	OP_QUEUE, OP_REAP,      /* libaio, io_uring: submits operations to the kernel, collects completed ones */
	OP_CHDIR,
	OP_WAIT, OP_TEST, OP_CANCEL, OP_FREE,   /* on requests of non-blocking operations */
	OP_SUBMIT,      /* begins several non-blocking operations (lio_listio) */
	OP_COMM,        /* creates a communicator from another one, with the same members unless MOD_PART */
	OP_UNWIND, OP_JUMP, OP_CATCH,   /* internal, never recorded: an unwinder's entry, longjmp, the end of an exception */
	OP_LEARN,       /* answered from memory: no Enter and Leave, only used for the shapes and names that it returns */
};

/* Modifiers of an operation (table_row.mods). */
#define MOD_COLLECTIVE 0x0001
#define MOD_NONBLOCKING 0x0002  /* begins an operation that another call completes */
#define MOD_COMPLETES 0x0004    /* _end of a split collective: completes the operation of the handle's _begin */
#define MOD_NESTED 0x0008       /* recorded only inside another recorded call */
#define MOD_CALLBACK 0x0010     /* calls user code: no return probe */
#define MOD_AT_ZERO 0x0020      /* close: only if the result is 0 (H5Idec_ref) */
#define MOD_DELETES 0x0040      /* close also deletes the file if the open requested it */
#define MOD_RANGE 0x0080        /* close: of the descriptors from HANDLE to HANDLE2 (close_range) */
/* probed in a process only while it uses the layer, recorded only for requests of the layer's operations */
#define MOD_ON_DEMAND 0x0100
#define MOD_SINGLE 0x0200       /* moves one element of VARIABLE */
#define MOD_WHOLE 0x0400        /* moves, or selects, all elements */
#define MOD_NONE 0x0800         /* selects none */
#define MOD_PART 0x1000         /* comm: with some of the members, by color or group */
#define MOD_NODE 0x2000         /* … with those on one node */
#define MOD_NATIVE 0x4000       /* creates the in-memory equivalent of TYPE */
#define MOD_RENAMES 0x10000     /* names in HANDLE's file may refer to other objects from now on */
#define MOD_DIRECT 0x20000      /* inside a call of a layer with variables in this one: not recorded */
#define MOD_CHECKED 0x40000     /* … recorded at the entry: the caller does not go on if it fails */
#define MOD_HEADER 0x80000      /* open: what calls inside read may be the file's header (table_layer.magic) */
/* not a call. queue: the kernel's polling thread takes an operation; meta: completion of an operation on a descriptor */
#define MOD_POLLED 0x8000

/* Role of an argument in the model. */
enum table_role {
	ROLE_NONE,      /* not captured ("-") */
	ROLE_PATH, ROLE_PATH2,
	ROLE_DIRFD, ROLE_DIRFD2,        /* directory descriptor for a relative PATH or PATH2 */
	ROLE_HANDLE,    /* the handle operated on, or with OUT the created one */
	ROLE_HANDLE2,   /* destination of a copy, requested number of dup2 */
	ROLE_PARENT,    /* the handle below which an object is opened (H5Dcreate's loc_id) */
	ROLE_NAME,      /* name of an object inside a file */
	ROLE_BYTES,     /* requested bytes */
	ROLE_SIZE, ROLE_ITEMS,          /* fread: requested bytes are their product */
	ROLE_OFFSET, ROLE_WHENCE,
	ROLE_FLAGS,     /* O_* or a library's own open flags */
	ROLE_STREAM_MODE,               /* fopen's "w+" */
	ROLE_COMM, ROLE_COMM_OUT,
	ROLE_COLOR, ROLE_KEY, ROLE_GROUP,       /* members of a new communicator, and their order */
	ROLE_REQUEST, ROLE_COUNT,
	ROLE_DATATYPE,  /* with an offset: the size of the type in bytes */
	ROLE_STATUS,    /* with an offset: the number of bytes moved */
	ROLE_VARIABLE,  /* netCDF variable id */
	ROLE_EDGES,     /* array: number of elements along each dimension (netCDF's count) */
	ROLE_DIMS,      /* array: ids of the variable's dimensions, or lengths of a dataspace's dimensions */
	ROLE_NDIMS,     /* number of dimensions */
	ROLE_DIM, ROLE_LENGTH,          /* a dimension's id, and its length */
	ROLE_TYPE,      /* of values: netCDF's nc_type, HDF5's type id */
	ROLE_TYPE2,
	ROLE_SPACE, ROLE_SPACE2,        /* HDF5's dataspaces: in memory, in the file */
	ROLE_TRANSFER,  /* HDF5's property list of a transfer */
	ROLE_LOCATION,  /* name, relative to PARENT, of the object that NAME belongs to */
	ROLE_START, ROLE_STRIDE,        /* arrays: the first element of a hyperslab, distances between EDGES */
	ROLE_BLOCK,     /* array: block sizes along each dimension */
	ROLE_IOV, ROLE_IOVCNT,
	ROLE_CMD, ROLE_ARG,
	ROLE_ADDR,      /* any other value that is recorded */
	ROLE_FD,        /* descriptor on which a handle of a higher layer is created (fdopen), or from which (accept) */
	ROLE_MOVED,     /* number of bytes moved, if that is not the result */
	ROLE_LOCK,      /* type (low 16 bits) and whence (next 16) of a record lock; OFFSET and BYTES are its range */
	ROLE_REQUESTS,  /* address of the first of COUNT requests, or of the only one */
	ROLE_STATUSES,  /* address of as many statuses; STATUS without "out:": address of one */
	ROLE_INDICES, ROLE_OUTCOUNT,    /* addresses: indexes of completed requests, their number */
	ROLE_DONE,      /* address of an int: whether REQUEST has completed */
	ROLE_STATE, ROLE_STATE2,        /* flags of a stream, before and after the call */
	ROLE_UNREAD, ROLE_UNREAD2,      /* addresses of the first byte of its buffer that was not read … */
	ROLE_LIMIT, ROLE_LIMIT2,        /* … and behind the last one */
	ROLE_FACT,      /* value of a static fact: table_arg.fact says which */
	ROLE_LIST, ROLE_LIST2,          /* lists of properties by id: of what is made, of how it is used */
	ROLE_INFO, ROLE_INFO_OUT,       /* sets of hints: given, made */
	ROLE_HINT, ROLE_VALUE,          /* strings: a hint's name and value */
	ROLE_VARIABLES, /* array of ids of variables, one for each piece */
	ROLE_PIECES,    /* number of elements of ITEMS pieces, along each dimension */
	ROLE_CONTENTS,  /* not captured: a buffer that may hold a header; its length is the next argument */
	ROLE_BUFFER,    /* not captured: the data's place in memory, of which a system call records whether it is aligned */
	ROLE_LAST = ROLE_BUFFER,
};

/* Kind of the return value. For RESULT_STATUS the layer defines which values mean success (table_layer.success). */
enum table_result {
	RESULT_VOID, RESULT_STATUS, RESULT_HANDLE, RESULT_BYTES, RESULT_ITEMS, RESULT_OFFSET,
	RESULT_POINTER, /* NULL means failure */
	RESULT_CHAR,    /* one byte moved, EOF means failure (fgetc, fputc) */
	RESULT_TYPE, RESULT_SPACE,      /* a new type or dataspace */
	RESULT_SIZE,    /* size of TYPE in bytes */
	RESULT_SELECTED, RESULT_EXTENT, /* number of elements of SPACE: selected, all */
	RESULT_NDIMS,   /* number of dimensions of SPACE */
	RESULT_VARIABLE,        /* > 0: TYPE has variable length */
	RESULT_CLASS,   /* class of TYPE (H5T_class_t) */
	RESULT_EQUAL,   /* > 0: TYPE and TYPE2 are equal */
	RESULT_TRANSFER,        /* a new property list */
	RESULT_REFERENCES,      /* number of closes that HANDLE needs now */
	RESULT_LIST,    /* a list of properties */
	RESULT_COUNT,   /* >= 0 means success, not a number of bytes (fputs, fscanf) */
};

enum table_success { SUCCESS_ZERO, SUCCESS_NONNEGATIVE, SUCCESS_NONNULL };
enum table_class { CLASS_SERIAL, CLASS_PARALLEL };
enum table_handle_kind { HANDLE_FD, HANDLE_ID, HANDLE_POINTER };

/* Flags of a library's open argument that map to OTF2's, e.g. "mode WRITE 0x1". */
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

/* A standard stream of a C library: a symbol that is the stream (glibc's _IO_2_1_stdout_), or a pointer to it that the linker has
 * filled in (musl's stdout). */
enum { TABLE_STDIN, TABLE_STDOUT, TABLE_STDERR, TABLE_STREAMS };
struct table_stream {
	uint8_t number;         /* TABLE_STDIN, … */
	bool pointer;
	char symbol[32];
};

/* An item of a list: each one replaces "{LIST}" in a function's name. */
struct table_item {
	char list[16], text[20];
	uint16_t element_bytes; /* element size for functions with this name; 0 unknown */
};

/* A predefined type of values: a number (netCDF), or the number in a symbol of the library at run time (HDF5). */
struct table_type { uint64_t value, bytes; char symbol[32]; };       /* symbol "": value is the type */

/* A number that a library of the known ABI has at this offset of an exported object. */
struct table_abi { char symbol[64]; uint64_t offset, value; };

/* A static fact of handles and objects. Values that are numbers may have names. */
#define TABLE_FACT_NAMES 10
struct table_fact {
	char name[24];          /* in rows */
	char title[40];         /* for users */
	char initial[16];       /* of what is made with an untouched list of properties; "" if not said */
	char narrow[16];        /* of every handle of a library whose handles are 32-bit numbers; "" if not said */
	bool always;            /* every handle that is made has a value */
	enum table_fact_source { FACT_OF_CALLS, FACT_OF_FILE_NAME, FACT_OF_VERSION } source;    /* the latter: of the library */
	char only_fact[24], only_value[16];     /* it holds only where that fact of the same thing has that value; "" */
	char other[16];         /* of numbers without a name; "": the number itself */
	struct { int64_t number; char text[16]; } names[TABLE_FACT_NAMES];
	unsigned nnames;
};

struct table_layer {
	char name[24];          /* netCDF, HDF5, MPI-IO, MPI, ISOC, POSIX, …: unique */
	uint16_t first_row;     /* index in table_set.rows: it has no rows before */
	char paradigm[24];      /* OTF2 identification; "" for layers without handles (MPI, internal) */
	char paradigm_name[48]; /* for users: "POSIX I/O" */
	bool os;                /* OTF2_IO_PARADIGM_FLAG_OS */
	bool syscalls;          /* rows are system calls */
	bool sockets;           /* … and descriptors of sockets are its handles */
	bool off;               /* not selected for this recording: no probes (table_set_select) */
	/* its library is mapped by every process and called often (libc): probes only inside the target processes */
	bool per_process;
	bool sets_errno;        /* the error of a failed call is that of the last failed system call inside */
	enum table_class klass; /* of the paradigm; if it depends on the library's build, this is SERIAL and one of these is set: */
	char parallel_symbol[64];       /* the library is a parallel build if it defines this symbol */
	char parallel_needed[64];       /* … if one of its DT_NEEDED names matches this pattern */
	enum table_success success;
	enum table_handle_kind handle_kind;
	bool handle_int;        /* handles are 32-bit ints */
	bool handle_heap;       /* pointers into the caller's stack are not handles */
	uint64_t handle_mask;   /* bits of a handle that identify the file (netCDF: 0xffff0000), all ones by default */
	char (*libraries)[64];  /* file name patterns, fnmatch(3) */
	size_t nlibraries;
	struct table_flag *flags;
	size_t nflags;
	struct table_comm *comms;
	size_t ncomms;
	struct table_stream *streams;
	size_t nstreams;
	bool on_demand;         /* it has rows with MOD_ON_DEMAND */
	struct table_abi *abi;  /* all must match for arguments with an offset to be used */
	size_t nabi;
	char abi_layer[24];     /* "": abi[] describes this layer's own library; else the layer whose library it describes */
	char narrow_symbol[64]; /* a library that defines it uses 32-bit numbers as handles (MPICH); "" if none does */
	/* offsets in a status there; its first 64 bits contain the number of bytes moved */
	uint8_t narrow_status_size, narrow_status_cancelled;
	uint8_t status_size, status_bytes, status_cancelled;    /* offsets in a status of the known ABI; size 0: unknown */
	uint8_t block_fd, block_opcode, block_bytes, block_offset;      /* offsets in a struct aiocb */
	struct table_item *items;
	size_t nitems;
	struct table_type *types;
	size_t ntypes;
	struct table_fact *facts;
	size_t nfacts;
	char part_of[24];       /* selected with that layer; "" */
	char variables_in[24];  /* layer whose datasets are this layer's variables, with the same number of dimensions; "" */
	char magic[5];          /* how its files' headers begin, of rows with MOD_HEADER; "" if none */
	char version_symbol[64];        /* an array of char with the library's version; "" if none */
};

struct table_arg {
	enum table_role role;
	enum iop_arg_kind kind;
	uint8_t offset;         /* offset of the value from the address in an IN or OUT argument */
	uint8_t position;       /* among the function's integer arguments, UINT8_MAX for a floating-point one */
	int8_t capture;         /* index in the record's args[], -1 if not captured */
	uint8_t fact;           /* ROLE_FACT: index in the layer's facts */
};

/* A fact that is told by the call itself, beside those of its arguments. */
enum table_said {
	SAID_NOTHING,
	SAID_SETS,      /* it has the value text */
	SAID_ADDS,      /* text is added to its values, followed by the argument that has the fact */
	SAID_GIVES,     /* it is the result */
	SAID_INCLUDES,  /* the result is one of its values */
	SAID_FORGETS,   /* it is unknown from then on */
};

#define TABLE_MAX_ARGS 16
struct table_row {
	char name[64];
	uint16_t id;            /* index over all tables */
	uint16_t layer;         /* index in table_set.layers */
	enum table_op op;
	unsigned mods;
	enum table_result result;
	bool result_int; /* the return value is a 32-bit int: only the low half of the record's ret is valid, sign-extended */
	uint16_t element_bytes; /* size of one value in memory, known from the function's name; 0 unknown */
	uint32_t since, before; /* versions of the library that have the function (table_version); 0: no bound */
	bool parallel_only;     /* only parallel builds of the library have it */
	enum table_said said;   /* of the fact with index said_fact in the layer's facts */
	uint8_t said_fact;
	char said_text[16];
	int8_t std_stream;      /* the handle is a standard stream: 0 stdin, 1 stdout; -1: an argument, or none */
	uint8_t nargs;
	struct table_arg args[TABLE_MAX_ARGS];
	bool off;               /* not selected for this recording (table_set_select) */
	int syscall_nr;         /* on this machine, -1 if there is none, or the row is not a system call */
	unsigned line;          /* in its source */
};

struct table_source { char *name, *text; };

struct table_set {
	struct table_layer *layers;
	size_t nlayers;
	struct table_row *rows;
	size_t nrows;
	struct table_source *sources;   /* as read: they are copied into the spool */
	size_t nsources;
};

void table_set_init(struct table_set *set);
void table_set_deinit(struct table_set *set);

/* Adds the tables of one text. Returns 0, or -EINVAL with one line "NAME:LINE:COLUMN: ERROR" in err, or -ENOMEM, -E2BIG. After an
 * error the set is unchanged. An existing layer may be continued ("layer NAME" alone). */
int table_parse(struct table_set *set, const char *source_name, const char *text, char *err, size_t err_len);

/* The same for a file: -errno if it cannot be read; err then has file, action and reason. */
int table_parse_file(struct table_set *set, const char *path, char *err, size_t err_len);

/* The tables of probes/ that are built into the program. */
int table_parse_builtin(struct table_set *set, char *err, size_t err_len);

/* A table of probes/optional, used on request: "sockets". */
int table_parse_optional(struct table_set *set, const char *name, char *err, size_t err_len);

/* Selects only these layers: names separated by commas, ignoring case and hyphens ("posix,mpiio"). Internal layers (unwinders)
 * stay. Returns 0, or -EINVAL with one line in err. */
int table_set_select(struct table_set *set, const char *names, char *err, size_t err_len);

/* Builds the descriptor of a row for the BPF programs. */
void table_row_descriptor(const struct table_set *set, const struct table_row *row, struct iop_desc *desc);

/* Functions that leave frames without a return (unwinders, longjmp): probed, never recorded, and needed by all layers. */
bool table_row_is_internal(const struct table_row *row);
bool table_layer_is_internal(const struct table_set *set, size_t layer);

/* Returns the IOP_HAS_* flag for an argument of this kind. */
unsigned table_kind_has(enum iop_arg_kind kind);

/* Describes where a function has its requests; returns false if it has none that the BPF programs must inspect. */
bool table_row_requests(const struct table_set *set, const struct table_row *row, struct iop_request_desc *desc);

/* Returns IOP_D_STREAM_DATA, IOP_D_STREAM_BYTES or 0: whether the overhead limit may detach the probe. */
unsigned table_row_stream_flag(const struct table_set *set, const struct table_row *row);

/* Returns the captured index of the first argument with this role, -1 if the row has none. */
int table_row_arg(const struct table_row *row, enum table_role role);

/* Returns the index of a fact in the layer's facts, -1 if there is none of this name. */
int table_fact_find(const struct table_layer *layer, const char *name);

/* NULL if there is none. */
const struct table_row *table_find(const struct table_set *set, const char *layer, const char *function);
const char *table_op_name(enum table_op op);

/* Converts "1.10.8" to a number that increases with the version; 0 if the text does not begin with a number. */
uint32_t table_version(const char *text);

/* Returns whether a library of this version (table_version; 0: unknown) should have the row's function: if it does not, the
 * function is reported as missing. In a library of unknown version only functions without version bounds are expected. */
bool table_row_expected(const struct table_row *row, uint32_t version, bool parallel);

#endif
