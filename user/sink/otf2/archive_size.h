/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A sink that writes nothing: it adds up, from above, what the archive and the files beside it take on disk, and is full when the
 * recording's bounds (model.end) leave no room for more.
 */
#ifndef IOPROBE_SINK_ARCHIVE_SIZE_H
#define IOPROBE_SINK_ARCHIVE_SIZE_H

#include "model/model.h"

/* Its finish returns -ENOSPC where hardly anything would be left of the recording: the spool is worth more then.
 *
 * spool_bytes: of the spool, which stays until the archive is whole. free_bytes: of the output's file system when the archive is
 * begun. whole_job: as for the OTF2 sink. Returns 0 or -ENOMEM. */
int archive_size_sink_create(struct sink **out, uint64_t spool_bytes, uint64_t free_bytes, bool whole_job);
void archive_size_sink_destroy(struct sink *sink);      /* NULL is fine */

/* What the archive takes at most if it ends here, its open calls included. */
uint64_t archive_size(const struct sink *sink, const struct model *model);

#endif
