/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Never writes into a folder that holds something already.
 */
#include "cmd/output.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool empty = true;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			empty = false;
	closedir(d);
	return empty ? 0 : -ENOTEMPTY;
}

int output_create(const char *dir, char *err_text, size_t err_len)
{
	int err = mkdir(dir, 0777) ? -errno : 0;

	if (err == -EEXIST)
		err = is_empty(dir);
	if (!err && access(dir, W_OK))
		err = -errno;
	if (err)
		snprintf(err_text, err_len, "cannot record to %s: %s", dir,
			 err == -ENOTEMPTY ? "the folder is not empty" : strerror(-err));
	return err;
}

void output_remove_empty(const char *dir)
{
	rmdir(dir);
}

static uid_t caller_uid;
static gid_t caller_gid;

static int give(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	if (lchown(path, caller_uid, caller_gid))
		fprintf(stderr, "ioprobe: cannot give %s to the user who called sudo: %s\n", path, strerror(errno));
	return 0;
}

void output_give_to_caller(const char *dir)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (geteuid() || !uid || !gid || !atol(uid))
		return;
	caller_uid = atol(uid);
	caller_gid = atol(gid);
	nftw(dir, give, 16, FTW_PHYS);
}

void output_default_name(char *dir, size_t len, const char *name)
{
	const char *slash = strrchr(name, '/');
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	snprintf(dir, len, "ioprobe-%s-%s", slash ? slash + 1 : name, stamp);
}
