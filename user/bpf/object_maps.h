/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Makes the maps of a BPF object whose programs other objects load.
 */
#ifndef IOPROBE_OBJECT_MAPS_H
#define IOPROBE_OBJECT_MAPS_H

struct bpf_object;

/* Makes the maps that the object does not have yet, with the contents of its variables. The object is open and will not be loaded:
 * that would read all the kernel's types, and relocate its functions, for nothing. Returns 0 or -errno; then it can still be
 * loaded. */
int object_maps_create(struct bpf_object *object);

#endif
