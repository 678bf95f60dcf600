/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Folders are made one by one below an open one, never through a link. Where the user may not make one, he gets one all the same:
 * then the folder above is the site's.
 */
#include "service/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "service/state.h"
#include "service/wire.h"

#define MAX_SAME_NAME 1000

void owner_of(struct owner *owner, const json_t *job)
{
	const struct passwd *entry;

	*owner = (struct owner){ .uid = json_integer_value(json_object_get(job, "uid")), .gid = json_integer_value(json_object_get(job, "gid")) };
	snprintf(owner->user, sizeof(owner->user), "%s", wire_text(job, "user"));
	if (owner->user[0])
		return;
	entry = getpwuid(owner->uid);
	if (entry)
		snprintf(owner->user, sizeof(owner->user), "%s", entry->pw_name);
	else
		snprintf(owner->user, sizeof(owner->user), "%u", owner->uid);
}

/* ---- rights ---- */

/* A name that the system does not know has no further groups. */
static int set_groups(const struct owner *owner)
{
	return initgroups(owner->user, owner->gid) && setgroups(1, &owner->gid) ? -errno : 0;
}

int owner_become(const struct owner *owner)
{
	int err = set_groups(owner);

	if (!err && (setegid(owner->gid) || seteuid(owner->uid)))
		err = -errno;
	if (err)
		owner_return();
	return err;
}

void owner_return(void)
{
	if (seteuid(0) || setegid(0) || setgroups(0, NULL))
		_exit(1);       /* cannot be: root is our real user */
}

int owner_become_for_good(const struct owner *owner)
{
	int err = set_groups(owner);

	return err ? err : setresgid(owner->gid, owner->gid, owner->gid) || setresuid(owner->uid, owner->uid, owner->uid) ? -errno : 0;
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

static int add_value(char *path, size_t len, char letter, const struct owner *owner, const json_t *job)
{
	switch (letter) {
	case 'u': return add_name(path, len, owner->user);
	case 'j': return add_name(path, len, wire_text(job, "job"));
	case 'n': return add_name(path, len, wire_text(job, "node"));
	case 'c': return add_name(path, len, wire_text(job, "cluster"));
	case 'w': return *wire_text(job, "work_dir") == '/' ? add(path, len, wire_text(job, "work_dir")) : -EINVAL;
	default: return add(path, len, "%");
	}
}

/* *fixed: the length of the site's own part. */
static int expand(char *path, size_t len, size_t *fixed, const struct owner *owner, const json_t *job)
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

struct maker { const struct owner *owner; bool site; };         /* site: root may help */

/* Effective again until owner_return: what is made is the user's from its first moment, also where he may not write. */
static int override_permissions(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].effective |= CAP_TO_MASK(CAP_DAC_OVERRIDE);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int make_one(const struct maker *maker, int dir, const char *name)
{
	int err = owner_become(maker->owner);

	if (err)
		return err;
	if (mkdirat(dir, name, 0700))
		err = -errno;
	if (maker->site && err == -EACCES && !override_permissions())
		err = mkdirat(dir, name, 0700) ? -errno : 0;
	owner_return();
	return err;
}

static int open_folder(const struct maker *maker, int dir, const char *path, int flags)
{
	int err = maker->site ? 0 : owner_become(maker->owner), fd;

	if (err)
		return err;
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	if (fd < 0)
		fd = -errno;
	if (!maker->site)
		owner_return();
	return fd;
}

/* The last component; path has room for the number. */
static int make_last(const struct maker *maker, int dir, char *path, size_t len, char *name)
{
	size_t end = strlen(path);
	int err = make_one(maker, dir, name);

	for (int i = 1; err == -EEXIST && i < MAX_SAME_NAME; i++) {
		if ((size_t)snprintf(path + end, len - end, ".%d", i) >= len - end)
			return -ENAMETOOLONG;
		err = make_one(maker, dir, name);
	}
	return err;
}

static int make_below(const struct maker *maker, int dir, char *path, size_t len, size_t at)
{
	while (true) {
		char *name = path + at, *slash = strchr(name, '/');
		int err, next;

		if (!slash) {
			err = make_last(maker, dir, path, len, name);
			close(dir);
			return err;
		}
		*slash = 0;
		err = *name ? make_one(maker, dir, name) : 0;
		next = err && err != -EEXIST ? err : open_folder(maker, dir, *name ? name : ".", O_NOFOLLOW);
		*slash = '/';
		close(dir);
		if (next < 0)
			return next;
		dir = next;
		at = slash + 1 - path;
	}
}

int owner_make_folder(const struct owner *owner, const json_t *job, char *path, size_t len, char *err_text, size_t err_len)
{
	struct maker maker = { .owner = owner };
	size_t fixed;
	int err = expand(path, len, &fixed, owner, job), dir;
	char above[4096];

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
	err = dir < 0 ? dir : make_below(&maker, dir, path, len, fixed);
	if (err)
		snprintf(err_text, err_len, "cannot make the folder %s: %s", path, strerror(-err));
	return err;
}
