/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The mounts of files: from the kernel's description at a file's first use (MOUNT records), or from the mount tables that the agent
 * read.
 */
#ifndef IOPROBE_REPLAY_FILE_MOUNTS_H
#define IOPROBE_REPLAY_FILE_MOUNTS_H

#include "replay/state.h"

/* A MOUNT record. Returns 0, also for one that cannot be read, or -ENOMEM. */
int file_mount_record(struct replay *r, const struct iop_rec_fd *rec);
/* Returns the mount of a file that is being described, as index of described_mounts; REF_NONE if the kernel has not described
 * it. */
uint32_t file_mount_described(const struct replay *r, const struct iop_rec_fd *rec);
/* Returns whether two such mounts may be of one file system: one is not known, or type and source are the same. */
bool file_mounts_agree(const struct replay *r, uint32_t a, uint32_t b);
/* Sets mount and scope of a file as far as they are known now, for sinks that report while the recording runs. Returns 0 or
 * -ENOMEM. */
int file_mount_guess(struct replay *r, uint32_t file);
/* At the end: sets mount and scope of all files, by their paths; notes the mounts that were declared to be shared and that no
 * process had. A file without a known mount keeps none. Returns 0 or -ENOMEM. */
int file_mounts_finish(struct replay *r);
void file_mounts_free(struct replay *r);

#endif
