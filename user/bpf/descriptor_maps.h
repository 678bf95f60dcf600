/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Fills the maps in which the BPF programs find the probe tables' rows.
 */
#ifndef IOPROBE_DESCRIPTOR_MAPS_H
#define IOPROBE_DESCRIPTOR_MAPS_H

struct table_set;

/* descriptors, requests: file descriptors of the maps of that name. Returns 0 or -errno. */
int descriptor_maps_fill(int descriptors, int requests, const struct table_set *set);

#endif
