/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Derived communicators. The creation is collective over the parent, whose members make such calls in the same order (MPI 4.0,
 * 6.4.2): the n-th call of a function on a communicator is the same creation in every process, provided that all of a process'
 * calls were recorded. The arguments determine the members: the color of a split, or the group (its size and the own rank).
 */
#ifndef IOPROBE_REPLAY_MPI_COMMUNITIES_H
#define IOPROBE_REPLAY_MPI_COMMUNITIES_H

#include "replay/state.h"

/* from and *to are contexts. null: the call returned MPI_COMM_NULL. */
int derived_comm_create(struct replay *r, struct thread *thread, const struct frame *f, uint32_t from, bool null, uint32_t *to);
uint32_t derived_comm_ref(struct replay *r, uint32_t context);             /* model comm, or COMMUNITY_WORLD */
int derived_comms_finish(struct replay *r);
void derived_comms_free(struct replay *r);
void derived_comms_free_process(struct process *process);

#endif
