/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds and opens an archive named on the command line.
 */
#include "cmd/trace_argument.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORKERS 64

static int make_absolute(struct trace_argument *a, const char *dir, char *err, size_t err_len)
{
	char *path = realpath(dir, NULL);
	int ret = path ? 0 : -errno;

	if (path && strlen(path) >= sizeof(a->dir))
		ret = -ENAMETOOLONG;
	if (ret)
		snprintf(err, err_len, "%s: cannot open it: %s", a->name, strerror(-ret));
	else
		snprintf(a->dir, sizeof(a->dir), "%s", path);
	free(path);
	return ret;
}

int trace_argument_locate(struct trace_argument *a, char *err, size_t err_len)
{
	char copy[4096];
	struct stat st;

	if (strlen(a->name) >= sizeof(copy) || stat(a->name, &st)) {
		snprintf(err, err_len, "%s: cannot open it: %s", a->name,
			 strerror(strlen(a->name) >= sizeof(copy) ? ENAMETOOLONG : errno));
		return -ENOENT;
	}
	snprintf(a->anchor, sizeof(a->anchor), TRACE_ANCHOR);
	if (S_ISDIR(st.st_mode))
		return make_absolute(a, a->name, err, err_len);
	snprintf(copy, sizeof(copy), "%s", a->name);
	snprintf(a->anchor, sizeof(a->anchor), "%s", basename(copy));
	snprintf(copy, sizeof(copy), "%s", a->name);
	return make_absolute(a, dirname(copy), err, err_len);
}

int trace_argument_open(const struct trace_argument *a, int *dir, struct identity *who, char *err, size_t err_len)
{
	struct stat st;
	int ret;

	*dir = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0) {
		ret = -errno;
		snprintf(err, err_len, "%s: cannot open it: %s", a->name, strerror(-ret));
		return ret;
	}
	ret = identity_caller(who, err, err_len);
	if (!ret && !who->uid && !fstat(*dir, &st) && st.st_uid) {
		identity_deinit(who);
		ret = identity_user(who, st.st_uid, st.st_gid);
	}
	if (!ret)
		return 0;
	close(*dir);
	*dir = -1;
	return ret;
}

/* MPI's launchers bind a process to some of the cores. */
unsigned trace_argument_workers(void)
{
	cpu_set_t cpus;
	int n = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);

	return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : n;
}
