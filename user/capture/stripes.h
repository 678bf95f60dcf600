/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layouts of files on Lustre: of each regular file that is described in a recording the attribute lustre.lov is read once and
 * noted, up to limits (stripes.c). A process of its own reads them, because a server that does not answer must stop neither the
 * recorder nor a target. A file beyond the limits has no note; the replay counts each file on Lustre without a layout
 * (replay/file_stripes.c).
 */
#ifndef IOPROBE_CAPTURE_STRIPES_H
#define IOPROBE_CAPTURE_STRIPES_H

#include <ioprobe/record.h>

#include "spool/spool.h"

struct stripes;

/* NULL without memory; all others accept NULL. The process is made here where the kernel has Lustre, else in the first step that
 * has a file to ask for. */
struct stripes *stripes_create(void);
void stripes_destroy(struct stripes *stripes);

/* A file that was described: FD and FILE records. */
void stripes_take(struct stripes *stripes, const struct iop_rec_fd *rec);
/* After each round: notes what was read. */
void stripes_step(struct stripes *stripes, struct spool_writer *spool);
/* The recording ends: waits at most a second for what was asked; the rest is noted as not read. */
void stripes_finish(struct stripes *stripes, struct spool_writer *spool);

#endif
