/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Open calls of a thread.
 */
#ifndef IOPROBE_REPLAY_FRAME_STATE_H
#define IOPROBE_REPLAY_FRAME_STATE_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "replay/library/handle_state.h"

struct str { const char *p; size_t len; };      /* p NULL: unknown */
struct array { const char *p; size_t n; unsigned element; };    /* integers of 4 or 8 bytes; p NULL: unknown */

struct frame {
	uint16_t probe;
	bool complete;                  /* the outcome is known: from a CALL record, or the EXIT was read */
	bool failed, abandoned;
	bool unseen;            /* abandoned because its return was not observed: whether it failed is unknown */
	bool held;                      /* of a COLLECTIVE record: its CPU times belong to the time between calls */
	bool doubtful;                  /* records of the thread were lost since: the call may have ended */
	uint8_t unread;                 /* bits: arguments that could not be read */
	bool unaligned;                 /* a system call's buffer is not aligned in memory */
	uint64_t enter_ns, leave_ns;
	int64_t ret;
	int32_t inner_error;            /* errno of the last system call inside that failed, 0 none */
	bool inner_at_end;              /* the last system call inside was a read that returned 0 */
	bool end_or_error;              /* ambiguous: the system call that would decide may have been filtered */
	bool at_end;                    /* the call reached the end of the file */
	/* bytes of the system calls inside that read the file of the call's handle; inner_other: there were others */
	bool inner_reads, inner_other;
	uint64_t inner_bytes;
	int64_t args[IOP_MAX_ARGS];
	struct str str[IOP_MAX_ARGS];
	char *text;                     /* storage of str[] between ENTER and EXIT */
	size_t text_size;
	char *path;                     /* absolute, resolved lexically; "" if none */
	/* the path may be that of a directory whose files are of the handle (NCZarr); there are some */
	bool tree, has_files;
	size_t path_size;

	/* the handle that the call creates */
	bool makes, resolved;           /* resolved: file is the one that the kernel reported, not looked up by name */
	uint32_t ref, file, comm;
	/* the handle that the call uses */
	struct object *object;
	uint32_t used;                  /* model handle */
	/* the operation that the call began */
	bool begun;
	uint8_t mode;                   /* OTF2 */
	uint64_t matching_id;
	uint64_t reserved_id;           /* matching id that its next operation gets, 0: a new one */
	uint64_t request;
	bool maps;                      /* maps a file; used is the file's handle */
	uint64_t device_bytes, wait_ns; /* with --device */
	uint32_t site;                  /* of an outermost call: model site, REF_NONE if unknown */
	struct fact_list *facts;        /* of the handle that the call makes, told by calls inside; NULL */
	uint8_t *header;                /* of the file that the call opens: its first bytes, as calls inside have read them; NULL */
	uint32_t header_len;
	bool header_ambiguous;          /* two files that the call has read begin like a header */
	uint64_t below_bytes;           /* asked by calls inside on the dataset that is its variable; 0: none, BYTES_UNKNOWN */
	const struct iop_submitted *listed;     /* the one of several operations of this call that is being written */
};

#endif
