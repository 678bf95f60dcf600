/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations of system calls on descriptors. All are decided at the return, for the file that the descriptor referred to at the
 * entry.
 */
#ifndef IOPROBE_REPLAY_FD_FDOPS_H
#define IOPROBE_REPLAY_FD_FDOPS_H

#include "replay/state.h"

/* performs the operation of a call on a descriptor, at its return */
int op_descriptor(struct replay *r, struct thread *thread, unsigned index);

#endif
