/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Joins the system calls of a library's helper threads (glibc's POSIX asynchronous I/O) to the requests that they carry out. A
 * request is identified by its control block; a system call carries it out if a helper thread makes it on the same descriptor with
 * the same mode, offset and size after the request was made. Of several such requests it is the oldest that is not carried out
 * yet: glibc keeps the order of the requests of a descriptor.
 */
#ifndef IOPROBE_REPLAY_ASYNC_HELPERS_H
#define IOPROBE_REPLAY_ASYNC_HELPERS_H

#include "replay/state.h"

/* What a request asks for. mode: OTF2; offset: OFFSET_UNKNOWN, bytes: BYTES_UNKNOWN for a flush. Padding must be zero. */
struct helper_work { uint64_t offset, bytes; int32_t fd; uint32_t mode; };

/* Remembers a request at the entry of the call that makes it: a helper thread may carry it out before that call returns. Assigns
 * the matching id of its operation. Returns 0 or -ENOMEM. */
int helper_expect(struct replay *r, struct process *process, uint64_t block, const struct helper_work *work, uint64_t begin_ns);

/* Returns the matching id of the request with this control block, 0 if there is none; *joined: a system call was joined to it. */
uint64_t helper_matching_id(const struct process *process, uint64_t block, bool *joined);

/* The request has ended, or was refused. done: it was carried out; counted if no system call was joined to it. */
void helper_request_ended(struct replay *r, struct process *process, uint64_t block, bool done);

/* Returns the matching id of the request that an operation of this outermost system call carries out, 0 if there is none; an
 * operation of a helper thread without a request is counted. The call has returned. */
uint64_t helper_request(struct replay *r, struct thread *thread, const struct frame *f, const struct helper_work *work);

/* Who made a thread: the library, if it was made inside a call of such a library or by a thread of that kind. */
void helper_thread_made(const struct replay *r, const struct thread *maker, struct thread *thread);

void helper_forget_all(struct process *process);
int helpers_finish(struct replay *r);   /* notes; 0 or -ENOMEM */

#endif
