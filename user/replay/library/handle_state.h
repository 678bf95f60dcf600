/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Handles of libraries, requests of non-blocking operations, and what is known of a process' libraries and communicators.
 */
#ifndef IOPROBE_REPLAY_HANDLE_STATE_H
#define IOPROBE_REPLAY_HANDLE_STATE_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "model/model.h"
#include "table/table.h"
#include "util/hash.h"

/* Pseudo address of a standard stream, for functions without a stream argument (printf) too; no real stream has such an address. */
#define STANDARD_STREAM(n) (UINT64_MAX - 1 - (n))

struct object_key { uint64_t value; uint32_t layer, pad; };
struct object {
	struct object_key key;
	unsigned holders;               /* references from the hash and from frames */
	unsigned references;            /* number of closes it needs beyond the first (H5Iinc_ref) */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file, comm, paradigm;
	uint32_t parent;                /* of a handle whose creation was not recorded, REF_NONE */
	bool root;                      /* a file whose opening was recorded, not an object inside one */
	const char *name;
	uint8_t mode;
	bool delete_on_close;
	bool closed;                    /* already closed by a call inside the closing one */
	struct variable *variables;     /* of a file: known properties of its variables and dimensions (shapes.c) */
	struct dimension *dimensions;
	struct object *in;              /* the file that contains it; NULL for a file, or unknown */
	char *inner;                    /* its name in the file; "" for a file, NULL unknown */
	struct sized *known;            /* of a file: known properties of its objects, by name (sizes/known.c) */
	bool others_write;              /* a file that other processes may change at the same time */
	bool collective;                /* of a netCDF file: operations on variables without a mode of their own are collective */
	bool facts_open;                /* its facts are unknown so far, and counted as such */
	uint64_t split_id;              /* operation of an unfinished split collective, 0 none */
	UT_hash_handle hh;
};

/* scope: the range in which the value is unique. */
struct request_key { uint64_t value, scope; uint32_t layer, pad; };
struct request {
	struct request_key key;
	uint32_t handle;                /* model handle */
	uint64_t matching_id, asked;    /* bytes */
	uint8_t mode;                   /* OTF2 */
	bool cancel;                    /* the program has tried to cancel it */
	bool freed;                     /* the program has freed it: there will be no wait */
	UT_hash_handle hh;
};

/* The REQUESTS records of a thread's next call. */
struct request_states { uint64_t enter_ns; uint16_t probe; struct iop_request_state *v; size_t n; };

struct library {
	bool seen, parallel, known_abi, narrow;         /* narrow: handles are 32-bit numbers, as MPICH's */
	const char *file, *version;                     /* the name of its file; NULL: unknown */
	uint64_t streams[TABLE_STREAMS];                /* addresses of the standard streams, 0 unknown */
};
/* context: counts the communicators created from it; CONTEXT_… or an index of derived_comms.c. */
struct comm_value { uint64_t value; uint32_t context; UT_hash_handle hh; };
enum { CONTEXT_WORLD = TABLE_COMM_WORLD, CONTEXT_SELF = TABLE_COMM_SELF, CONTEXT_NULL = TABLE_COMM_NULL, CONTEXT_OTHERS };
#define COMMUNITY_WORLD (REF_NONE - 1)
struct open_count { const char *key; unsigned n; UT_hash_handle hh; };

#endif
