/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What system calls do on descriptors. All is decided at the return, with the descriptor that the number was at the entry.
 */
#ifndef IOPROBE_REPLAY_FD_FDOPS_H
#define IOPROBE_REPLAY_FD_FDOPS_H

#include "replay/state.h"

int op_descriptor(struct replay *r, struct thread *thread, unsigned index);     /* what a call on a descriptor does, at its return */

#endif
