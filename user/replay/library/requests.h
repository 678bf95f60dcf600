/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Non-blocking operations that are completed by another call.
 */
#ifndef IOPROBE_REPLAY_LIBRARY_REQUESTS_H
#define IOPROBE_REPLAY_LIBRARY_REQUESTS_H

#include "replay/state.h"

/* Registers the operation that began in this frame under this value. */
int request_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value, uint64_t scope, const struct frame *f);
struct request *request_find(const struct process *process, uint32_t layer, uint64_t value, uint64_t scope);
/* Handle a result of the frame's call for the request; the last two end the operation and free it. */
int request_test(struct replay *r, struct thread *thread, const struct frame *f, const struct request *request);
int request_cancelled(struct replay *r, struct thread *thread, const struct frame *f, struct request *request);
int request_complete(struct replay *r, struct thread *thread, const struct frame *f, struct request *request, uint64_t bytes,
		     bool failed);
int request_issued(struct replay *r, struct thread *thread, const struct frame *f);     /* by a call that makes a request */
int requests_record(struct replay *r, struct thread *thread, const struct iop_rec_requests *rec);
int requests_leave(struct replay *r, struct thread *thread, const struct frame *f); /* a call that waits, tests, cancels, frees */
void requests_end(struct replay *r, struct process *process);                           /* what remains is left open */

#endif
