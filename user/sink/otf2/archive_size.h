/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A sink that writes nothing: it computes an upper bound for the size of the archive and the files beside it, and reports full when
 * the recording's limits (model.end) leave no room for more.
 */
#ifndef IOPROBE_SINK_ARCHIVE_SIZE_H
#define IOPROBE_SINK_ARCHIVE_SIZE_H

#include "model/model.h"

/* Its finish returns -ENOSPC if almost nothing would be left of the recording: the spool is then more useful.
 *
 * spool_bytes: size of the spool, which is kept until the archive is complete. free_bytes: free space in the output's file system
 * when the archive is begun. whole_job: as for the OTF2 sink. Returns 0 or -ENOMEM. */
int archive_size_sink_create(struct sink **out, uint64_t spool_bytes, uint64_t free_bytes, bool whole_job);
void archive_size_sink_destroy(struct sink *sink);      /* NULL is allowed */

/* Returns the maximum size of the archive if it ends here, its open calls included. */
uint64_t archive_size(const struct sink *sink, const struct model *model);

#endif
