/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls on names (open, stat, access, unlink, rename, …): their paths, and where relative ones begin.
 */
#ifndef IOPROBE_REPLAY_CALL_NAMES_H
#define IOPROBE_REPLAY_CALL_NAMES_H

#include "replay/state.h"

/* Fills in what a call that leaves was asked to do by name: its paths, and the directories that relative ones begin in. Nothing for
 * a call without a path argument, nor for an open that has made a handle: the handle has the file. Returns 0 or -ENOMEM. */
int call_names_add(struct replay *r, struct thread *thread, const struct frame *f, struct model_event *leave);

/* The directory that a relative path of the call begins in, taken from the descriptor argument of this role: absolute, NULL if
 * it is not known. */
const char *name_directory(struct replay *r, struct thread *thread, const struct frame *f, enum table_role dirfd);

/* MPI-IO's way to name a file system's driver ("ufs:/data/f") is not part of the path. */
bool name_of_local_address(const struct replay *r, const struct frame *f, struct str *path);
struct str name_without_driver(const struct replay *r, const struct frame *f, struct str path);

int call_names_finish(struct replay *r);     /* notes what is missing; 0 or -ENOMEM */

#endif
