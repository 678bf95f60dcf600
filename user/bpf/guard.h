/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Guards calls that are in flight when their recording ends: their return addresses are the kernel's trampoline until they
 * return, which unwinders do not know. Part of the hold server. See bpf/DESIGN.md, "Calls in flight".
 */
#ifndef IOPROBE_GUARD_H
#define IOPROBE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/guard_places.h"

struct guard;

/* Loads the programs and begins to serve requests, in a thread; perf: links are perf events. Returns 0 or -errno. */
int guard_create(struct guard **out, bool perf);
void guard_destroy(struct guard *guard);        /* NULL is allowed */

/* Attaches to the unwinders of all places. Returns how many links were made. */
size_t guard_attach(struct guard *guard, const struct guard_places *places);

/* Returns whether this descriptor is one of the guard's links. */
bool guard_has_link(const struct guard *guard, int fd);

/* Looks for calls whose return address is replaced; guards nothing else from then on: a second look finds calls of the first
 * one only. begun: calls may still begin, so all links are kept. Returns their number; *unread: how many of them only count because
 * the mappings of their process were not read (guard_calls.h). */
size_t guard_look(struct guard *guard, bool begun, size_t *unread);

#endif
