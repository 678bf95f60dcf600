/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Loads the programs of the BPF object in several threads. The verifier needs most of the time before a recording begins, and
 * checks programs independently of each other.
 */
#ifndef IOPROBE_LOAD_H
#define IOPROBE_LOAD_H

#include <stddef.h>

struct ioprobe_bpf;

#define LOAD_PARTS 4    /* each repeats libbpf's work on the kernel's types, and one program takes a fifth of all */

#define LOAD_THREADS_VARIABLE "IOPROBE_LOAD_THREADS"    /* the number of parts, for tests */

/* Returns the number of parts for the CPUs that are idle now, 1 to LOAD_PARTS: together the parts take a third more CPU time than
 * one object, which would be the programs' where no CPU is idle. */
size_t load_parts_wanted(void);

/* Loads n objects that were opened and configured alike, n > 1: the first one only makes the maps, which the others use; their
 * programs are divided among them. Returns 0 or -errno. */
int load_in_parts(struct ioprobe_bpf **parts, size_t n);

#endif
