/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Each has the users that hold it; the last one frees it.
 */
#ifndef IOPROBE_REPLAY_FD_FD_TABLES_H
#define IOPROBE_REPLAY_FD_FD_TABLES_H

#include "replay/state.h"

struct fd_table *fd_table_new(void);                                    /* NULL without memory, as the next but one */
struct fd_table *fd_table_hold(struct fd_table *table);
struct fd_table *fd_table_copy(const struct fd_table *from);
void fd_table_release(struct fd_table *table);                          /* NULL is fine */
int fd_table_set(struct fd_table **place, struct fd_table *table);      /* takes over table; releases what was there. table NULL: -ENOMEM */
int fd_table_unshare(struct thread *thread);                            /* from now on the thread has a copy */
int fd_table_found(struct replay *r, struct thread *thread, uint32_t number);   /* by a scan: as other threads of this number */
int fd_table_exec(struct replay *r, struct thread *thread);             /* the thread is the only one of its process now */

#endif
