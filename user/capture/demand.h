/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes that are placed on demand: on functions that programs call far more often for messages than for files (MPI_Wait,
 * MPI_Test). A process gets them with its first call of MPI-IO and loses them while they cost something and no operation is under
 * way.
 */
#ifndef IOPROBE_DEMANDS_H
#define IOPROBE_DEMANDS_H

#include "capture/targets.h"

struct demands;
int demands_create(struct demands **out, struct kernel_side *kernel, struct targets *targets, const struct table_set *set,
		   struct spool_writer *spool);         /* 0 or -ENOMEM */
size_t demands_no_memory(const struct demands *demands);        /* processes whose idle calls are not counted for want of memory */
void demands_destroy(struct demands *demands);          /* before the targets; NULL is fine */

/* Places the probes in a process: it has called a function of such a layer at this time, or (0) was found running. */
void demands_place(struct demands *demands, pid_t pid, uint64_t wanted_ns);
/* The process has ended or become another program. */
void demands_forget(struct demands *demands, pid_t pid);
/* Takes away what costs and serves nothing. Call it often. */
void demands_step(struct demands *demands, uint64_t now_ns);

#endif
