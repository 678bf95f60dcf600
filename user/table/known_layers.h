/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Properties of layers by their name, from probes/known.layers. The spools of old versions carry tables that do not have these
 * properties, and must still give the same archive.
 */
#ifndef IOPROBE_KNOWN_LAYERS_H
#define IOPROBE_KNOWN_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the layer's place in the order of the summary, in which callers come before what they call; lower is earlier. */
int known_layer_place(const char *layer);
/* Returns whether its regions have OTF2's paradigm MPI. */
bool known_layer_is_mpi(const char *layer);
/* Returns whether names of its files may be addresses, file:///DIR#… */
bool known_layer_has_addresses(const char *layer);
/* Returns the length of a driver's name and its colon at the begin of a file name of the layer; 0: there is none. */
size_t known_layer_driver(const char *layer, const char *name, size_t len);

#endif
