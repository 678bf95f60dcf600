/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Directories are created one by one below an open one, never through a link. A directory that the user has no right to create is
 * created by root, owned by the user, if the directory above belongs to the site.
 */
#include "service/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/state.h"
#include "service/wire.h"

#define MAX_SAME_NAME 1000

int owner_of(struct identity *owner, const json_t *job)
{
	return identity_user(owner, json_integer_value(json_object_get(job, "uid")),
			     json_integer_value(json_object_get(job, "gid")));
}

/* ---- the directory's name ---- */

static int owner_add(char *path, size_t len, const char *text)
{
	size_t used = strlen(path);

	return (size_t)snprintf(path + used, len - used, "%s", text) < len - used ? 0 : -ENAMETOOLONG;
}

/* Names come from the batch system: none may contain a path. */
static int add_name(char *path, size_t len, const char *name)
{
	return state_valid_name(name) ? owner_add(path, len, name) : -EINVAL;
}

static int owner_add_value(char *path, size_t len, char letter, const struct identity *owner, const json_t *job)
{
	switch (letter) {
	case 'u': return add_name(path, len, owner->name);
	case 'j': return add_name(path, len, wire_text(job, "id"));
	case 'n': return add_name(path, len, wire_text(job, "node"));
	case 'c': return add_name(path, len, wire_text(job, "cluster"));
	case 'w': return *wire_text(job, "work_dir") == '/' ? owner_add(path, len, wire_text(job, "work_dir")) : -EINVAL;
	default: return owner_add(path, len, "%");
	}
}

/* Returns the length of the part before the last slash. */
static size_t above_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len;
}

/* *fixed: the length of the part that must exist; *letter: the placeholder without a value, if there is one. */
static int owner_expand(char *path, size_t len, size_t *fixed, size_t *site, char *letter, const struct identity *owner,
			const json_t *job)
{
	const char *pattern = wire_text(job, "output");
	int err = 0;

	path[0] = 0;
	*fixed = above_len(pattern, strcspn(pattern, "%"));
	*site = SIZE_MAX;
	for (const char *at = pattern; *at && !err; at++) {
		char text[2] = { *at };

		*letter = *at == '%' ? *++at : 0;
		if (*letter && strchr("uj", *letter) && *site == SIZE_MAX)
			*site = above_len(path, strlen(path));
		err = *letter ? owner_add_value(path, len, *letter, owner, job) : owner_add(path, len, text);
	}
	if (*site > strlen(path))
		*site = above_len(path, strlen(path));
	return err;
}

static void explain_name(const json_t *job, char letter, int err, char *err_text, size_t err_len)
{
	static const struct { char letter; const char *what, *remedy; } values[] = {
		{ 'u', "the user's name", "rename the user, or remove %u from the policy's output" },
		{ 'n', "the node's name", "start the service with --node" },
		{ 'c', "the cluster's name", "give 'cluster NAME' in the policy" },
		{ 'w', "the working directory", "remove %w from the policy's output" },
	};
	const char *what = "a name", *remedy = "correct the policy's output";

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].letter == letter) {
			what = values[i].what;
			remedy = values[i].remedy;
		}
	snprintf(err_text, err_len, "job %s: cannot make its directory by the pattern %s: %s %s: %s", wire_text(job, "job"),
		 wire_text(job, "output"), what,
		 err == -ENAMETOOLONG ? "makes the path too long" : "is missing or cannot be part of a path", remedy);
}

/* ---- creation ---- */

#define FOREIGN (-5000)         /* not an errno: the directory belongs to another user */

/* In a path of the site, root may help, and root opens the directories above; everywhere else the user's rights apply. */
struct maker { const struct identity *owner; struct owner_place *place; bool site; };

static int owner_open_directory(const struct maker *maker, int dir, const char *path, int flags)
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

/* The owner of a directory can replace anything below it: no other user may own a directory above this user's. */
static int owner_check_owner(const struct maker *maker, int dir, bool shared)
{
	struct stat st;

	if (fstat(dir, &st))
		return -errno;
	return st.st_uid == geteuid() || (!shared && st.st_uid == maker->owner->uid) ? 0 : FOREIGN;
}

static void note_made(const struct maker *maker, size_t at)
{
	if (at < maker->place->made)
		maker->place->made = at;
}

/* Creates one directory on the way: a site's one, made by root, or the user's. Returns its descriptor. */
static int make_one(const struct maker *maker, int dir, const char *name, size_t at)
{
	bool shared = maker->site && at < maker->place->site;
	int err, fd;

	if (!*name)
		return owner_open_directory(maker, dir, ".", 0);
	if (shared)
		err = mkdirat(dir, name, 0755) ? -errno : 0;
	else
		err = output_make_directory(maker->owner, dir, name, 0700, maker->site);
	if (!err)
		note_made(maker, at);
	fd = err && err != -EEXIST ? err : owner_open_directory(maker, dir, name, O_NOFOLLOW);
	err = fd < 0 || !maker->site ? 0 : owner_check_owner(maker, fd, shared);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Creates the last component; path has room for the number. */
static int make_last(const struct maker *maker, struct output *out, int dir, char *path, size_t len, size_t at)
{
	size_t end = strlen(path);
	int err = output_create_at(out, maker->owner, dir, path + at, 0700, maker->site);

	for (int i = 1; err == -EEXIST && i < MAX_SAME_NAME; i++) {
		if ((size_t)snprintf(path + end, len - end, ".%d", i) >= len - end)
			return -ENAMETOOLONG;
		err = output_create_at(out, maker->owner, dir, path + at, 0700, maker->site);
	}
	if (!err)
		note_made(maker, at);
	return err;
}

static int make_below(const struct maker *maker, struct output *out, int dir, char *path, size_t len, size_t at)
{
	while (true) {
		char *slash = strchr(path + at, '/');
		int err, next;

		if (!slash) {
			err = make_last(maker, out, dir, path, len, at);
			close(dir);
			return err;
		}
		*slash = 0;
		next = make_one(maker, dir, path + at, at);
		*slash = '/';
		close(dir);
		if (next < 0)
			return next;
		dir = next;
		at = slash + 1 - path;
	}
}

static void explain_making(const struct identity *owner, const char *path, int err, char *err_text, size_t err_len)
{
	if (err == FOREIGN || err < -4095)
		snprintf(err_text, err_len,
			 "cannot make the directory %s for user %s: a directory on the way belongs to another user: remove it, or "
			 "change the policy's output",
			 path, owner->name);
	else
		snprintf(err_text, err_len,
			 "cannot make the directory %s for user %s: %s: mend that, or change the policy's output", path,
			 owner->name, strerror(-err));
}

int owner_make_directory(const struct identity *owner, const json_t *job, struct output *out, struct owner_place *place,
			 char *err_text, size_t err_len)
{
	struct maker maker = { .owner = owner, .place = place };
	char path[sizeof(out->path)], above[sizeof(out->path)], letter;
	size_t fixed;
	int err = owner_expand(path, sizeof(path), &fixed, &place->site, &letter, owner, job), dir;

	if (err) {
		explain_name(job, letter, err, err_text, err_len);
		return err;
	}
	place->made = SIZE_MAX;
	maker.site = fixed > 0;
	if (!fixed) {           /* %w: the whole path with the user's rights */
		fixed = strlen(wire_text(job, "work_dir")) + 1;
		place->site = 0;
	}
	snprintf(above, sizeof(above), "%.*s", (int)fixed, path);
	dir = owner_open_directory(&maker, AT_FDCWD, above, 0);
	err = dir < 0 ? dir : make_below(&maker, out, dir, path, sizeof(path), fixed);
	if (!err) {
		snprintf(out->path, sizeof(out->path), "%s", path);
		return 0;
	}
	explain_making(owner, path, err, err_text, err_len);
	owner_remove_empty(owner, path, place);
	return err < -4095 ? -EPERM : err;
}

/* ---- removal ---- */

static int remove_as(const struct identity *owner, const char *path)
{
	struct identity_saved saved;
	int err = identity_begin(owner, &saved);

	if (err)
		return err;
	err = rmdir(path) ? -errno : 0;
	identity_end(&saved);
	return err;
}

/* Root removes only names in the site's own directories, none of which is below a user's directory. */
void owner_remove_empty(const struct identity *owner, const char *path, const struct owner_place *place)
{
	char at[sizeof(((struct output *)0)->path)];

	snprintf(at, sizeof(at), "%s", path);
	while (strlen(at) > place->made) {
		size_t above = above_len(at, strlen(at));
		int err = remove_as(owner, at);

		if (err == -EACCES && above <= place->site)
			err = rmdir(at) ? -errno : 0;
		if (err && err != -ENOENT && err != -ENAMETOOLONG)         /* these: the directory was not created here */
			return;
		at[above ? above - 1 : 0] = 0;
	}
}
