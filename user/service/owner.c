/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Folders are made one by one below an open one, never through a link. Where the user may not make one, he gets one all the same:
 * then the folder above is the site's.
 */
#include "service/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/state.h"
#include "service/wire.h"

#define MAX_SAME_NAME 1000

int owner_of(struct identity *owner, const json_t *job)
{
	return identity_user(owner, json_integer_value(json_object_get(job, "uid")), json_integer_value(json_object_get(job, "gid")));
}

/* ---- the folder's name ---- */

static int add(char *path, size_t len, const char *text)
{
	size_t used = strlen(path);

	return (size_t)snprintf(path + used, len - used, "%s", text) < len - used ? 0 : -ENAMETOOLONG;
}

/* Names come from the batch system: none may be a path. */
static int add_name(char *path, size_t len, const char *name)
{
	return state_valid_id(name) ? add(path, len, name) : -EINVAL;
}

static int add_value(char *path, size_t len, char letter, const struct identity *owner, const json_t *job)
{
	switch (letter) {
	case 'u': return add_name(path, len, owner->name);
	case 'j': return add_name(path, len, wire_text(job, "job"));
	case 'n': return add_name(path, len, wire_text(job, "node"));
	case 'c': return add_name(path, len, wire_text(job, "cluster"));
	case 'w': return *wire_text(job, "work_dir") == '/' ? add(path, len, wire_text(job, "work_dir")) : -EINVAL;
	default: return add(path, len, "%");
	}
}

/* *fixed: the length of the site's own part. */
static int expand(char *path, size_t len, size_t *fixed, const struct identity *owner, const json_t *job)
{
	const char *pattern = wire_text(job, "output"), *first = strchr(pattern, '%');
	int err = 0;

	path[0] = 0;
	*fixed = first ? (size_t)(first - pattern) : strlen(pattern);
	while (*fixed && pattern[*fixed - 1] != '/')
		(*fixed)--;
	for (const char *at = pattern; *at && !err; at++) {
		char letter[2] = { *at };

		err = *at == '%' ? add_value(path, len, *++at, owner, job) : add(path, len, letter);
	}
	return err;
}

/* ---- making it ---- */

/* Of a path of the site's, root may help, and root opens what is above; all else is the user's. */
struct maker { const struct identity *owner; bool site; };

static int open_folder(const struct maker *maker, int dir, const char *path, int flags)
{
	struct identity_saved saved;
	int err = maker->site ? 0 : identity_begin(maker->owner, &saved), fd;

	if (err)
		return err;
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	if (fd < 0)
		fd = -errno;
	if (!maker->site)
		identity_end(&saved);
	return fd;
}

/* The last component; path has room for the number. */
static int make_last(const struct maker *maker, struct output *out, int dir, char *path, size_t len, char *name)
{
	size_t end = strlen(path);
	int err = output_create_at(out, maker->owner, dir, name, 0700, maker->site);

	for (int i = 1; err == -EEXIST && i < MAX_SAME_NAME; i++) {
		if ((size_t)snprintf(path + end, len - end, ".%d", i) >= len - end)
			return -ENAMETOOLONG;
		err = output_create_at(out, maker->owner, dir, name, 0700, maker->site);
	}
	return err;
}

static int make_below(const struct maker *maker, struct output *out, int dir, char *path, size_t len, size_t at)
{
	while (true) {
		char *name = path + at, *slash = strchr(name, '/');
		int err, next;

		if (!slash) {
			err = make_last(maker, out, dir, path, len, name);
			close(dir);
			return err;
		}
		*slash = 0;
		err = *name ? output_make_directory(maker->owner, dir, name, 0700, maker->site) : 0;
		next = err && err != -EEXIST ? err : open_folder(maker, dir, *name ? name : ".", O_NOFOLLOW);
		*slash = '/';
		close(dir);
		if (next < 0)
			return next;
		dir = next;
		at = slash + 1 - path;
	}
}

int owner_make_folder(const struct identity *owner, const json_t *job, struct output *out, char *err_text, size_t err_len)
{
	struct maker maker = { .owner = owner };
	char path[sizeof(out->path)], above[sizeof(out->path)];
	size_t fixed;
	int err = expand(path, sizeof(path), &fixed, owner, job), dir;

	if (err) {
		snprintf(err_text, err_len, "no folder can be made of %s: a name is missing or has signs that are not allowed",
			 wire_text(job, "output"));
		return err;
	}
	maker.site = fixed > 0;
	if (!fixed)
		fixed = strlen(wire_text(job, "work_dir")) + 1;         /* %w: all of it with the user's rights */
	snprintf(above, sizeof(above), "%.*s", (int)fixed, path);
	dir = open_folder(&maker, AT_FDCWD, above, 0);
	err = dir < 0 ? dir : make_below(&maker, out, dir, path, sizeof(path), fixed);
	if (err)
		snprintf(err_text, err_len, "cannot make the folder %s: %s", path, strerror(-err));
	else
		snprintf(out->path, sizeof(out->path), "%s", path);
	return err;
}
