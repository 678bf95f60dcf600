/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Maps names to layers.
 */
#ifndef IOPROBE_TRACE_LAYERS_H
#define IOPROBE_TRACE_LAYERS_H

#include "trace/trace.h"

/* Returns the layer of an I/O paradigm's identification or of a region's description; LAYER_OTHER for an unknown one, LAYER_NONE
 * for "". */
enum trace_layer layer_by_name(const char *name);

/* Returns the layer of a region that does not name one; io: its role is file I/O; mpi: its paradigm is MPI. */
enum trace_layer layer_of_function(const char *function, bool io, bool mpi);

#endif
