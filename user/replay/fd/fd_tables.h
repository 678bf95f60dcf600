/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Descriptor tables are reference-counted; the last user frees the table.
 */
#ifndef IOPROBE_REPLAY_FD_FD_TABLES_H
#define IOPROBE_REPLAY_FD_FD_TABLES_H

#include "replay/state.h"

struct fd_table *fd_table_new(void);                                    /* NULL without memory; so does fd_table_copy */
struct fd_table *fd_table_hold(struct fd_table *table);
struct fd_table *fd_table_copy(const struct fd_table *from);
void fd_table_release(struct fd_table *table);                          /* NULL is allowed */
/* takes ownership of table; releases the previous one. table NULL: -ENOMEM */
int fd_table_set(struct fd_table **place, struct fd_table *table);
int fd_table_unshare(struct thread *thread);                            /* from now on the thread has a copy */
/* by the scan: the table that other threads with this number have */
int fd_table_found(struct replay *r, struct thread *thread, uint32_t number);
int fd_table_exec(struct replay *r, struct thread *thread);             /* the thread is now the only one of its process */

#endif
