/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The stack of open calls of a thread, rebuilt from the records; Enter and Leave events; handling of lost records.
 */
#ifndef IOPROBE_REPLAY_CALLS_H
#define IOPROBE_REPLAY_CALLS_H

#include "replay/state.h"

int call_record(struct replay *r, struct thread *thread, const struct iop_rec_call *rec);
/* A collective call next to the outermost one that follows. */
int call_collective(struct replay *r, struct thread *thread, const struct iop_rec_collective *rec);
/* Part of the header of the file that open calls are opening. */
int call_contents(struct replay *r, struct thread *thread, const struct iop_rec_contents *rec);
int call_device(struct replay *r, struct thread *thread, const struct iop_rec_device *rec); /* charged to the innermost open call */
int call_loss(struct replay *r, struct thread *thread, uint64_t from_ns, uint64_t to_ns, uint32_t records);
int call_abandon_to(struct replay *r, struct thread *thread, unsigned keep, uint64_t time_ns);

#endif
