/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes that are placed on demand: on functions that programs call far more often for messages than for files (MPI_Wait,
 * MPI_Test). A process gets them while it is held at its start, or with its first call of MPI-IO. They are detached when they cost
 * time and no operation is in progress.
 */
#ifndef IOPROBE_DEMANDS_H
#define IOPROBE_DEMANDS_H

#include "capture/targets.h"

struct demands;
int demands_create(struct demands **out, struct bpf_side *kernel, struct targets *targets, const struct table_set *set,
		   struct spool_writer *spool);         /* 0 or -ENOMEM */
size_t demands_no_memory(const struct demands *demands);        /* processes that have no entry for want of memory */
void demands_destroy(struct demands *demands);          /* to be called before targets_destroy; NULL is allowed */

/* Places the probes in a process that has called a function of such a layer at this time, or (0) was found running. Without such a
 * library nothing is done. */
void demands_place(struct demands *demands, pid_t pid, uint64_t wanted_ns);
/* They have just been placed, while the process was held. */
void demands_placed(struct demands *demands, pid_t pid, uint64_t wanted_ns);
/* The process has ended or executed another program. */
void demands_forget(struct demands *demands, pid_t pid);
/* Detaches probes that cost time and have no operation to observe. To be called often. */
void demands_step(struct demands *demands, uint64_t now_ns);

#endif
