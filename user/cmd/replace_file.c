/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Temporary file and rename, with the rights of the file's user.
 */
#include "cmd/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
	char path[PATH_MAX];            /* without links */
	char temporary[PATH_MAX];
	bool in_place;                  /* no regular file */
	bool exists;
	mode_t mode;
};

static int find_target(const char *name, struct target *t)
{
	struct stat st;

	*t = (struct target){ .mode = 0666 };
	if (!stat(name, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		t->in_place = !S_ISREG(st.st_mode);
		t->exists = true;
		t->mode = st.st_mode & 07777;
	} else if (errno != ENOENT) {
		return -errno;
	}
	/* A dangling link is replaced itself. */
	if (!realpath(name, t->path) &&
	    (errno != ENOENT || (size_t)snprintf(t->path, sizeof(t->path), "%s", name) >= sizeof(t->path)))
		return errno == ENOENT ? -ENAMETOOLONG : -errno;
	if ((size_t)snprintf(t->temporary, sizeof(t->temporary), "%s.%d.tmp", t->path, getpid()) >= sizeof(t->temporary))
		return -ENAMETOOLONG;
	return 0;
}

static int open_target(const struct target *t)
{
	int fd = t->in_place ? open(t->path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
			     : open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, t->mode);

	return fd < 0 ? -errno : fd;
}

static int replace_file_write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		len -= n;
	}
	return 0;
}

static int write_target(const struct target *t, const char *text, size_t len)
{
	int fd = open_target(t), ret = fd < 0 ? fd : replace_file_write_all(fd, text, len);

	if (fd < 0)
		return fd;
	if (!ret && t->exists && !t->in_place && fchmod(fd, t->mode))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && !t->in_place && rename(t->temporary, t->path))
		ret = -errno;
	if (ret && !t->in_place)
		unlink(t->temporary);
	return ret;
}

static int check_target(const struct target *t)
{
	int fd;

	if (t->in_place)
		return access(t->path, W_OK) ? -errno : 0;      /* opening a pipe would wait for its reader */
	fd = open_target(t);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(t->temporary);
	return 0;
}

/* text NULL: only checks. */
static int replace_or_check(const char *name, const struct identity *who, const char *text, size_t len)
{
	struct identity_saved saved;
	struct target target;
	int ret = identity_begin(who, &saved);

	if (ret)
		return ret;
	ret = find_target(name, &target);
	if (!ret)
		ret = text ? write_target(&target, text, len) : check_target(&target);
	identity_end(&saved);
	return ret;
}

int replace_file_check(const char *name, const struct identity *who)
{
	return replace_or_check(name, who, NULL, 0);
}

int replace_file(const char *name, const struct identity *who, const char *text, size_t len)
{
	return replace_or_check(name, who, text ? text : "", len);
}
