/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Communicators: which of a process' values are MPI_COMM_WORLD, MPI_COMM_SELF or derived from them (derived_comms.c); and handles
 * that the members of a communicator open together, which share one definition.
 */
#ifndef IOPROBE_REPLAY_MPI_COMMS_H
#define IOPROBE_REPLAY_MPI_COMMS_H

#include "replay/state.h"

int op_comm_enter(struct replay *r, struct thread *thread, unsigned index);
int op_comm_leave(struct replay *r, struct thread *thread, struct frame *f);
int comm_known(struct replay *r, struct process *process, uint64_t value, enum table_comm_kind kind);
bool comm_is_shared(const struct replay *r, uint32_t comm);              /* has several processes: not MPI_COMM_SELF */
uint32_t handle_unified(struct replay *r, struct process *process, const struct model_handle *def, const char *path);
int comms_finish(struct replay *r);
void comms_free(struct replay *r);
void comms_free_process(struct process *process);

#endif
