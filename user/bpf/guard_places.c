/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files are kept open by descriptors that allow nothing but to be named. There are few; processes may be many and short.
 */
#include "bpf/guard_places.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/link_request.h"

#define SWEEP_MIN 64    /* places before those without a link are looked for */

static int guard_places_open_file(struct guard_places *places, const char *path, const struct stat *st, size_t *file)
{
	struct guard_file *files = realloc(places->files, (places->nfiles + 1) * sizeof(*files));
	int fd;

	if (!files)
		return -ENOMEM;
	places->files = files;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*file = places->nfiles++;
	files[*file] = (struct guard_file){ .dev = st->st_dev, .ino = st->st_ino, .fd = fd };
	return 0;
}

static int guard_places_find_file(struct guard_places *places, const char *path, size_t *file)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	for (*file = 0; *file < places->nfiles; ++*file)
		if (places->files[*file].dev == st.st_dev && places->files[*file].ino == st.st_ino)
			return 0;
	return guard_places_open_file(places, path, &st, file);
}

static int add_offset(struct guard_file *file, uint64_t offset)
{
	uint64_t *offsets;

	for (size_t i = 0; i < file->n; i++)
		if (file->offsets[i] == offset)
			return 0;
	offsets = realloc(file->offsets, (file->n + 1) * sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	file->offsets = offsets;
	offsets[file->n++] = offset;
	return 0;
}

static bool is_linked(const struct guard_places *places, const struct guard_place *place)
{
	char name[16];

	if (place->link & LINK_OF_SERVER)
		return true;            /* it is removed with its link */
	if (places->mount_fd < 0)
		return !place->pid || !kill(place->pid, 0) || errno == EPERM;
	snprintf(name, sizeof(name), "%d", place->link);
	return !faccessat(places->mount_fd, name, F_OK, 0);
}

void guard_places_sweep(struct guard_places *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->n; i++)
		if (is_linked(places, &places->v[i]))
			places->v[kept++] = places->v[i];
	places->n = places->swept = kept;
}

void guard_places_remove(struct guard_places *places, int link)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->v[i].link == link)
			places->v[i] = places->v[--places->n];
}

static int guard_places_add_place(struct guard_places *places, struct guard_place place)
{
	if (places->n >= SWEEP_MIN && places->n >= 2 * places->swept)
		guard_places_sweep(places);
	if (places->n == places->cap) {
		size_t cap = places->cap ? 2 * places->cap : SWEEP_MIN;
		struct guard_place *v = realloc(places->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		places->v = v;
		places->cap = cap;
	}
	places->v[places->n++] = place;
	return 0;
}

int guard_places_add(struct guard_places *places, const char *path, pid_t pid, int link, const uint64_t *offsets, size_t n)
{
	size_t file = 0;
	int err = guard_places_find_file(places, path, &file);

	for (size_t i = 0; i < n && !err; i++)
		err = add_offset(&places->files[file], offsets[i]);
	return err ? err : guard_places_add_place(places, (struct guard_place){ pid, link, file });
}

void guard_places_deinit(struct guard_places *places)
{
	for (size_t i = 0; i < places->nfiles; i++) {
		close(places->files[i].fd);
		free(places->files[i].offsets);
	}
	free(places->files);
	free(places->v);
	*places = (struct guard_places){ .mount_fd = -1 };
}
