/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Determines which processes are MPI ranks, and of which job, at the end, when all their properties are known. The launcher's
 * environment variables are inherited, so the children of a rank have them too.
 */
#ifndef IOPROBE_REPLAY_MPI_RANKS_H
#define IOPROBE_REPLAY_MPI_RANKS_H

#include "replay/state.h"

struct job *job_of(struct replay *r, uint32_t group);                   /* by the name known so far; valid until the next call */
int ranks_finish(struct replay *r);                                     /* ranks, jobs and names of groups */

#endif
