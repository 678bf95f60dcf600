/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The descriptors of a table. A number is looked up at the time of a call's entry among its last few open files, so that threads
 * that close, open and use the same number concurrently each get the right file.
 */
#ifndef IOPROBE_REPLAY_FD_FDS_H
#define IOPROBE_REPLAY_FD_FDS_H

#include "replay/state.h"

int fd_record(struct replay *r, struct process *process, struct fd_table *table, const struct iop_rec_fd *rec);
struct fd_slot *fd_slot(struct fd_table *table, int64_t fd);            /* NULL: never used */
struct open_file *fd_push(struct fd_slot *slot, uint64_t time_ns);
struct open_file *fd_find(struct replay *r, struct process *process, struct fd_table *table, int64_t fd, uint64_t time_ns);
struct open_file *fd_open(struct fd_table *table, int64_t fd, uint64_t time_ns);     /* a new generation */
struct open_file *fd_undescribed(struct fd_table *table, int64_t fd, uint64_t time_ns);       /* in use, so it was open */
uint32_t fd_paradigm(const struct replay *r, uint32_t file);            /* of a descriptor of this file */
bool fd_take_hint(struct fd_table *table, int64_t fd, struct description *out);
uint32_t fd_handle(struct replay *r, struct process *process, int64_t fd, struct open_file *inc); /* pre-created if it has none */
const char *fd_standard_name(int64_t fd);                               /* NULL except for stdin, stdout, stderr */

#endif
