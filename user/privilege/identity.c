/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Temporary changes affect the file system ids and groups of the calling thread only (raw system calls: glibc's wrappers would
 * change all threads, by a signal). Permanent changes go through glibc, in a process with one thread.
 */
#include "privilege/identity.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privilege/capabilities.h"

#define OVERFLOW_GID 65534      /* of the user nobody, as in /proc/sys/kernel/overflowgid */

/* ---- who ---- */

static int read_groups(gid_t **groups, size_t *ngroups)
{
	int n = getgroups(0, NULL);

	*groups = n < 0 ? NULL : malloc((n + 1) * sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	n = getgroups(n, *groups);
	if (n < 0) {
		free(*groups);
		*groups = NULL;
		return -errno;
	}
	*ngroups = n;
	return 0;
}

static void set_name(struct identity *who, const char *name)
{
	if (name)
		snprintf(who->name, sizeof(who->name), "%s", name);
	else
		snprintf(who->name, sizeof(who->name), "%u", who->uid);
}

int identity_self(struct identity *who)
{
	const struct passwd *entry = getpwuid(geteuid());

	*who = (struct identity){ .uid = geteuid(), .gid = getegid(), .own = true };
	set_name(who, entry ? entry->pw_name : NULL);
	return read_groups(&who->groups, &who->ngroups);
}

/* getgrouplist returns the required size if the room is too small. */
static int list_groups(struct identity *who)
{
	int room = 64, n;

	for (;;) {
		gid_t *groups = realloc(who->groups, room * sizeof(*groups));

		if (!groups)
			return -ENOMEM;
		who->groups = groups;
		n = room;
		if (getgrouplist(who->name, who->gid, groups, &n) >= 0)
			break;
		room = n > room ? n : 2 * room;
		if (room > NGROUPS_MAX)
			return -E2BIG;
	}
	who->ngroups = n;
	return 0;
}

static int identity_resolve(struct identity *who, const struct passwd *entry, uid_t uid, gid_t gid)
{
	int err;

	*who = (struct identity){ .uid = uid, .gid = gid };
	if (gid == (gid_t)-1)
		who->gid = entry ? entry->pw_gid : OVERFLOW_GID;
	set_name(who, entry ? entry->pw_name : NULL);
	who->own = uid == geteuid();
	if (entry)
		err = list_groups(who);
	else if ((who->groups = malloc(sizeof(gid_t))))
		err = (who->groups[0] = who->gid, who->ngroups = 1, 0);
	else
		err = -ENOMEM;
	if (err)
		identity_deinit(who);
	return err;
}

int identity_user(struct identity *who, uid_t uid, gid_t gid)
{
	if (uid == geteuid())
		return identity_self(who);
	return identity_resolve(who, getpwuid(uid), uid, gid);
}

void identity_deinit(struct identity *who)
{
	free(who->groups);
	who->groups = NULL;
	who->ngroups = 0;
}

/* ---- the user who ran sudo ---- */

static bool number_of(const char *text, uint32_t *number)
{
	char *end;
	unsigned long long n;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	*number = n;
	return !*end && !errno && n < UINT32_MAX;
}

/* Several names may share a uid: SUDO_USER is preferred if it has this one. */
static const struct passwd *entry_of_sudo(uid_t uid)
{
	const char *name = getenv("SUDO_USER");
	const struct passwd *entry = name ? getpwnam(name) : NULL;

	return entry && entry->pw_uid == uid ? entry : getpwuid(uid);
}

static bool has_group(const struct identity *who, gid_t gid)
{
	for (size_t i = 0; i < who->ngroups; i++)
		if (who->groups[i] == gid)
			return true;
	return false;
}

int identity_caller(struct identity *who, char *err, size_t err_len)
{
	const char *text = geteuid() ? NULL : getenv("SUDO_UID");
	const struct passwd *entry;
	uint32_t uid = 0, gid;
	int ret;

	err[0] = 0;
	if (text && !number_of(text, &uid)) {
		snprintf(err, err_len, "cannot act for the user who called sudo: SUDO_UID is not a user id; unset it, or call "
			"sudo");
		return -EINVAL;
	}
	if (!uid)
		ret = identity_self(who);
	else if (!(entry = entry_of_sudo(uid))) {
		snprintf(err, err_len,
			 "cannot act for the user who called sudo: SUDO_UID %u is not known to this system; unset it, or call sudo "
			 "as a user of the system",
			 uid);
		return -ENOENT;
	} else {
		ret = identity_resolve(who, entry, uid, -1);
		if (!ret && number_of(getenv("SUDO_GID"), &gid) && has_group(who, gid))
			who->gid = gid;         /* newgrp was used before sudo */
	}
	if (ret)
		snprintf(err, err_len, "cannot find the groups of the calling user: %s", strerror(-ret));
	return ret;
}

/* ---- temporary changes ---- */

static int set_groups_of_thread(const gid_t *groups, size_t n)
{
	return syscall(SYS_setgroups, n, groups) ? -errno : 0;
}

/* setfsuid reports no errors: a second call returns the result of the first. */
static int set_file_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid(-1) == uid && (gid_t)setfsgid(-1) == gid ? 0 : -EPERM;
}

static int switch_ids(const struct identity *who, struct identity_saved *saved)
{
	int err = read_groups(&saved->groups, &saved->ngroups);

	if (err)
		return err;
	saved->fsuid = setfsuid(-1);
	saved->fsgid = setfsgid(-1);
	err = set_groups_of_thread(who->groups, who->ngroups);
	if (!err)
		err = set_file_ids(who->uid, who->gid);
	return err;
}

int identity_begin(const struct identity *who, struct identity_saved *saved)
{
	int err;

	*saved = (struct identity_saved){ .own = who->own };
	err = capabilities_get(saved->caps);
	if (!err && !who->own)
		err = switch_ids(who, saved);
	if (!err && who->uid)
		err = capabilities_drop_file_overrides();
	if (err)
		identity_end(saved);
	return err;
}

void identity_end(struct identity_saved *saved)
{
	int err = 0;

	if (!saved->own && saved->groups)
		err = set_file_ids(saved->fsuid, saved->fsgid) ?: set_groups_of_thread(saved->groups, saved->ngroups);
	if (!err && capabilities_set(saved->caps))
		err = -EPERM;
	free(saved->groups);
	saved->groups = NULL;
	if (err)
		abort();        /* continuing with part of a user's rights would be worse */
}

/* ---- permanent changes ---- */

int identity_become(const struct identity *who)
{
	if (!who->own && (setgroups(who->ngroups, who->groups) || setresgid(who->gid, who->gid, who->gid) ||
			  setresuid(who->uid, who->uid, who->uid)))
		return -errno;
	if (capabilities_drop_all() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -EPERM;
	if (who->uid && (!setresuid(-1, 0, -1) || !setresuid(0, -1, -1)))
		return -EPERM;  /* must have failed */
	return 0;
}
