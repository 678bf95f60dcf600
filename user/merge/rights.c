/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A merge opens everything by path, because libotf2 does: as root that is safe only in directories that root alone controls.
 */
#include "merge/rights.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "privilege/capabilities.h"
#include "privilege/identity.h"

static const char *rights_user_name(uid_t uid, char *number, size_t len)
{
	const struct passwd *entry = getpwuid(uid);

	snprintf(number, len, "%u", uid);
	return entry ? entry->pw_name : number;
}

static int check_node(const char *dir, char *err, size_t err_len)
{
	char number[16];
	struct stat st;
	const char *name;

	if (stat(dir, &st) || !st.st_uid)
		return 0;       /* one that does not exist is reported when it is read */
	name = rights_user_name(st.st_uid, number, sizeof(number));
	snprintf(err, err_len, "cannot merge %s as root: it belongs to user %s; merge as that user: sudo -u %s ioprobe merge …",
		 dir, name, name);
	return -EPERM;
}

/* Others may exchange names in it. */
static int check_above(const char *out, const char *above, char *err, size_t err_len)
{
	struct stat st;

	if (lstat(above, &st))
		return -errno;
	if (!st.st_uid && (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX))
		return 0;
	snprintf(err, err_len,
		 "cannot merge to %s as root: other users may change %s; merge as the user whose archives they are, or to another "
		 "directory",
		 out, above);
	return -EPERM;
}

/* Every directory on the way to it, without links. */
static int rights_check_output(const char *out, char *err, size_t err_len)
{
	char above[4096], *path, *end;
	int ret;

	snprintf(above, sizeof(above), "%s", out);
	for (end = above + strlen(above); end > above + 1 && end[-1] == '/'; )
		*--end = 0;
	end = strrchr(above, '/');
	if (end)
		end[end == above] = 0;  /* "/name" is in "/" */
	path = realpath(end ? above : ".", NULL);
	if (!path)
		return 0;       /* the merge itself reports that it cannot write there */
	ret = check_above(out, "/", err, err_len);
	for (end = path; *end && !ret; ) {
		end += 1 + strcspn(end + 1, "/");
		char next = *end;
		*end = 0;
		ret = check_above(out, path, err, err_len);
		*end = next;
	}
	free(path);
	return ret;
}

static int check_root(const struct merge_options *options, char *err, size_t err_len)
{
	int ret = 0;

	for (size_t i = 0; i < options->ndirs && !ret; i++)
		ret = check_node(options->dirs[i], err, err_len);
	return ret ? ret : rights_check_output(options->out, err, err_len);
}

int merge_take_rights(const struct merge_options *options, char *err, size_t err_len)
{
	struct identity who;
	int ret = identity_caller(&who, err, err_len);

	if (ret)
		return ret;
	if (!who.uid)
		ret = check_root(options, err, err_len);
	else
		ret = who.own ? capabilities_drop_all() : identity_become(&who);
	if (ret && !err[0])
		snprintf(err, err_len, "cannot merge as user %s: %s", who.name, strerror(-ret));
	identity_deinit(&who);
	return ret;
}
