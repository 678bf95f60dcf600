/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files: one definition per path, device and mount. Their mounts are looked up at the end, see file_mounts.h.
 */
#ifndef IOPROBE_REPLAY_FILES_H
#define IOPROBE_REPLAY_FILES_H

#include "replay/state.h"

uint32_t file_described(struct replay *r, struct process *process, const struct iop_rec_fd *rec);
/* by the numbers that the kernel reported; REF_NONE if unknown */
uint32_t file_of_inode(const struct replay *r, uint64_t dev, uint64_t ino);
uint32_t file_by_path(struct replay *r, struct process *process, const char *path);
void files_finish(struct replay *r);
void files_free(struct replay *r);

#endif
