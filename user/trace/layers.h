/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which layer a name belongs to.
 */
#ifndef IOPROBE_TRACE_LAYERS_H
#define IOPROBE_TRACE_LAYERS_H

#include "trace/trace.h"

/* The layer of an I/O paradigm's identification or of a region's description; LAYER_OTHER for one that is not known, LAYER_NONE for "". */
enum trace_layer layer_by_name(const char *name);

/* The layer of a region that names none; io: its role is file I/O; mpi: its paradigm is MPI. */
enum trace_layer layer_of_function(const char *function, bool io, bool mpi);

#endif
