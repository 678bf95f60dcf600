/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where the unwinders of the recorded processes are: what a guard needs to attach to them when the recorder, which has the files
 * open, may be gone.
 */
#ifndef IOPROBE_GUARD_PLACES_H
#define IOPROBE_GUARD_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file with unwinders, and a link to them. pid: of the process that it was made for, 0: all. */
struct guard_file { uint64_t dev, ino; int fd; uint64_t *offsets; size_t n; };
struct guard_place { pid_t pid; int link; size_t file; };
struct guard_places {
	struct guard_file *files;
	size_t nfiles;
	struct guard_place *v;
	size_t n, cap, swept;   /* swept: number of places when those without a link were last removed */
	int mount_fd;           /* where links are pinned, by number; -1: they are not */
};

/* Remembers a link to points of a file, which is opened by this path. Returns 0 or -errno. */
int guard_places_add(struct guard_places *places, const char *path, pid_t pid, int link, const uint64_t *offsets, size_t n);
/* Removes the places whose link is gone, because the process has ended or has the library no more. */
void guard_places_sweep(struct guard_places *places);
/* Removes the place of a link with LINK_OF_SERVER. */
void guard_places_remove(struct guard_places *places, int link);
void guard_places_deinit(struct guard_places *places);

#endif
