/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Iterations over the contents of HDF5's objects (H5Literate), and the ids that the library passes to the program's functions.
 */
#ifndef IOPROBE_REPLAY_SIZES_ITERATIONS_H
#define IOPROBE_REPLAY_SIZES_ITERATIONS_H

#include "replay/state.h"

/* The object that an iteration was called for. inner: its name in the file, NULL if unknown. */
struct iterated { struct object *file; char *inner; };

/* An id was made by a recorded call. Returns -ENOMEM. */
int iterations_made(struct thread *thread, uint64_t id);
/* An iteration over this object begins; inner is consumed. Returns -ENOMEM. */
int iterations_begun(struct thread *thread, struct object *file, char *inner);
/* Returns the object whose iteration made this id of unknown origin (NULL members: unknown), or NULL. Sets *known to whether the
 * order of the process' ids determines it. */
const struct iterated *iterations_find(struct thread *thread, uint64_t id, bool *known);
/* Returns whether HDF5 passes ids of this kind to callbacks: groups and datasets. It makes no files, types and the like by
 * itself. */
bool iterations_pass(uint64_t id);
void iterations_free(struct process *process);

#endif
