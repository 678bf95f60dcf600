/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layouts of files on Lustre, which the agent reads once for each inode.
 */
#ifndef IOPROBE_REPLAY_FILE_STRIPES_H
#define IOPROBE_REPLAY_FILE_STRIPES_H

#include "replay/state.h"

/* A STRIPES record. Returns 0, also for one that cannot be read, or -ENOMEM. */
int file_stripes_record(struct replay *r, const struct iop_rec_text *rec);
/* All files are known: those whose inodes have one layout get it. Files on Lustre without a layout are counted as unknown. */
void file_stripes_finish(struct replay *r);
void file_stripes_free(struct replay *r);

#endif
