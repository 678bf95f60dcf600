/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layouts of files on Lustre, which the agent reads once for each inode.
 */
#ifndef IOPROBE_REPLAY_FILE_STRIPES_H
#define IOPROBE_REPLAY_FILE_STRIPES_H

#include "replay/state.h"

/* A STRIPES record. Returns 0, also for one that cannot be read, or -ENOMEM. */
int file_stripes_record(struct replay *r, const struct iop_rec_text *rec);
/* To be called when all files are known. Sets the layout of each file whose inodes share one; counts files on Lustre without a
 * readable layout as unknown. */
void file_stripes_finish(struct replay *r);
void file_stripes_free(struct replay *r);

#endif
