/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The mount table of a process (text of /proc/PID/mountinfo, see proc(5)) and the scope of a file system.
 */
#ifndef IOPROBE_MOUNTS_H
#define IOPROBE_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct mount_row {
	uint32_t id, parent_id, dev_major, dev_minor;
	char *root, *mount_point, *fs_type, *source, *options;   /* unescaped */
};
struct mounts { struct mount_row *v; size_t n; };

int mounts_parse(struct mounts *out, const char *text, size_t len);    /* 0, -EINVAL (nothing kept), -ENOMEM */
void mounts_deinit(struct mounts *mounts);
const struct mount_row *mounts_by_id(const struct mounts *mounts, uint32_t id);          /* NULL if unknown */
/* the longest mount point, the last of equal ones */
const struct mount_row *mounts_by_path(const struct mounts *mounts, const char *path);

/* Returns whether a file system is shared by the nodes of a job or local to one: from its type (nfs, lustre, gpfs, … are shared;
 * ext4, xfs, tmpfs, … local; FUSE by its subtype, overlay by its layers) and its source. Unknown if it cannot be determined. */
enum model_scope mount_scope(const struct mount_row *row);

#endif
