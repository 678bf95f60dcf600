/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Directories are created and opened one component at a time, with the owner's rights, never through a link in the last component.
 */
#include "privilege/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "privilege/capabilities.h"
#include "spool/spool.h"

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- one directory ---- */

static int is_empty(int dir)
{
	int copy = openat(dir, ".", OPEN_DIRECTORY);    /* with a file position of its own */
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool empty = true;

	if (!d) {
		int err = -errno;

		if (copy >= 0)
			close(copy);
		return err;
	}
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			empty = false;
	closedir(d);
	return empty ? 0 : -ENOTEMPTY;
}

/* Errors that are not an errno; output_explain() converts them to -EPERM. */
enum { FOREIGN = -5000, OPEN_TO_OTHERS };

/* In a directory that root writes to, only root may be able to change names. */
static int check_owner(int dir, const struct identity *owner)
{
	struct stat st;

	if (fstat(dir, &st))
		return -errno;
	if (st.st_uid != owner->uid)
		return FOREIGN;
	if (!owner->uid && (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid)))
		return OPEN_TO_OTHERS;
	return 0;
}

/* Rights of the user, plus the right to write where only the site may. */
static int override_permissions(void)
{
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	int err = capabilities_get(caps);

	caps[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].effective |= CAP_TO_MASK(CAP_DAC_OVERRIDE);
	return err ? err : capabilities_set(caps);
}

/* Call between identity_begin and identity_end. A directory that root creates for itself is not writable by others, whatever the
 * umask. */
static int make_directory(const struct identity *owner, int above, const char *name, mode_t mode, bool more)
{
	int err;

	if (!owner->uid)
		mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
	err = mkdirat(above, name, mode) ? -errno : 0;
	if (err == -EACCES && more && !override_permissions())
		err = mkdirat(above, name, mode) ? -errno : 0;
	return err;
}

int output_make_directory(const struct identity *owner, int above, const char *name, mode_t mode, bool more)
{
	struct identity_saved saved;
	int err = identity_begin(owner, &saved);

	if (err)
		return err;
	err = make_directory(owner, above, name, mode, more);
	identity_end(&saved);
	return err;
}

/* Call between identity_begin and identity_end. The directory is the created one, or one by which its owner has replaced it. */
static int open_new(struct output *out, const char *name)
{
	int err;

	out->dir = openat(out->above, name, OPEN_DIRECTORY);
	if (out->dir < 0)
		return -errno;
	err = check_owner(out->dir, out->owner);
	return err ? err : is_empty(out->dir);
}

static void close_above(struct output *out)
{
	if (out->above >= 0)
		close(out->above);
	out->above = -1;
}

/* Call between identity_begin and identity_end. above is open only if the directory was created here. */
static int give_up(struct output *out, int err)
{
	if (out->above >= 0)
		unlinkat(out->above, out->name, AT_REMOVEDIR);
	output_close(out);
	return err;
}

static void output_init(struct output *out, const struct identity *owner, const char *path)
{
	*out = (struct output){ .dir = -1, .above = -1, .owner = owner };
	snprintf(out->path, sizeof(out->path), "%s", path);
}

int output_create_at(struct output *out, const struct identity *owner, int above, const char *name, mode_t mode, bool more)
{
	struct identity_saved saved;
	int err;

	output_init(out, owner, name);
	snprintf(out->name, sizeof(out->name), "%s", name);
	out->above = fcntl(above, F_DUPFD_CLOEXEC, 3);
	err = out->above < 0 ? -errno : identity_begin(owner, &saved);
	if (err)
		return err;
	err = make_directory(owner, out->above, name, mode, more);
	if (err)
		close_above(out);
	else if (more)
		override_permissions();         /* if that fails, so does the next step */
	err = err ? err : open_new(out, name);
	err = err ? give_up(out, err) : 0;
	identity_end(&saved);
	return err;
}

/* ---- by path ---- */

static int output_explain(const char *action, const struct output *out, int err, char *err_text, size_t err_len)
{
	const char *name = out->owner->name;

	switch (err) {
	case 0:
		return 0;
	case -ENOTEMPTY:
		snprintf(err_text, err_len, "cannot %s %s: the directory is not empty; give another one", action, out->path);
		break;
	case FOREIGN:
		snprintf(err_text, err_len,
			 "cannot %s %s: the directory does not belong to user %s; give a new one, or one of that user", action,
			 out->path, name);
		return -EPERM;
	case OPEN_TO_OTHERS:
		snprintf(err_text, err_len,
			 "cannot %s %s as root: other users may write to the directory; give another one, or take their right to "
			 "write",
			 action, out->path);
		return -EPERM;
	case -ELOOP:
	case -ENOTDIR:
		snprintf(err_text, err_len, "cannot %s %s: not a directory (a symbolic link is not followed); give another one",
			 action, out->path);
		break;
	case -EACCES:
		snprintf(err_text, err_len,
			 "cannot %s %s: Permission denied for user %s; give a directory where that user may write", action,
			 out->path, name);
		break;
	default:
		snprintf(err_text, err_len, "cannot %s %s: %s", action, out->path, strerror(-err));
	}
	return err;
}

/* Splits path into its parent directory, which is opened, and the last component in out->name ("." if the path has no last
 * component). */
static int open_above(struct output *out)
{
	char above[sizeof(out->path)], *slash;
	size_t len;

	if (!out->path[0])
		return -ENOENT;
	memcpy(above, out->path, sizeof(above));
	for (len = strlen(above); len > 1 && above[len - 1] == '/'; len--)
		above[len - 1] = 0;
	slash = strrchr(above, '/');
	if (snprintf(out->name, sizeof(out->name), "%s", slash ? slash + 1 : above) >= (int)sizeof(out->name))
		return -ENAMETOOLONG;
	if (!out->name[0])
		snprintf(out->name, sizeof(out->name), ".");
	if (slash)
		slash[slash == above] = 0;      /* "/name" is in "/" */
	out->above = open(slash ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->above < 0 ? -errno : 0;
}


static int output_create_file(struct output *out)
{
	int err = open_above(out), made;

	if (err)
		return err;     /* nothing is open */
	made = make_directory(out->owner, out->above, out->name, 0777, false);
	err = made && made != -EEXIST ? made : open_new(out, out->name);
	if (made)
		close_above(out);       /* it existed before, and stays */
	if (!err && faccessat(out->dir, ".", W_OK, AT_EACCESS))
		err = -errno;
	return err ? give_up(out, err) : 0;
}

int output_create(struct output *out, const struct identity *owner, const char *path, char *err_text, size_t err_len)
{
	struct identity_saved saved;
	int err;

	output_init(out, owner, path);
	err = strlen(path) >= sizeof(out->path) ? -ENAMETOOLONG : identity_begin(owner, &saved);
	if (err)
		return output_explain("record to", out, err, err_text, err_len);
	err = output_create_file(out);
	identity_end(&saved);
	return output_explain("record to", out, err, err_text, err_len);
}

/* ---- an existing directory ---- */

static int open_existing(struct output *out, const char *path)
{
	char stripped[sizeof(out->path)];

	snprintf(stripped, sizeof(stripped), "%s", path);
	for (size_t len = strlen(stripped); len > 1 && stripped[len - 1] == '/'; len--)
		stripped[len - 1] = 0;          /* with a trailing slash a link would be followed */
	out->dir = open(stripped, OPEN_DIRECTORY);
	return out->dir < 0 ? -errno : 0;
}

int output_open(struct output *out, const struct identity *owner, const char *path, char *err_text, size_t err_len)
{
	struct identity_saved saved;
	int err;

	output_init(out, owner, path);
	err = identity_begin(owner, &saved);
	if (!err) {
		err = open_existing(out, path);
		if (!err)
			err = check_owner(out->dir, owner);
		identity_end(&saved);
	}
	return output_explain("write to", out, err, err_text, err_len);
}

int output_open_as_owner(struct output *out, struct identity *owner, const char *path, char *err_text, size_t err_len)
{
	struct stat st;
	int err;

	if (geteuid()) {
		err = identity_self(owner);
		if (!err)
			return output_open(out, owner, path, err_text, err_len);
		snprintf(err_text, err_len, "cannot open %s: %s", path, strerror(-err));
		return err;
	}
	output_init(out, owner, path);
	snprintf(owner->name, sizeof(owner->name), "root");
	err = open_existing(out, path);
	if (!err && fstat(out->dir, &st))
		err = -errno;
	if (!err)
		err = identity_user(owner, st.st_uid, -1);
	if (!err)
		err = check_owner(out->dir, owner);
	return output_explain("write to", out, err, err_text, err_len);
}

/* ---- contents ---- */

int output_create_spool(const struct output *out, struct spool_writer **spool, char *err_text, size_t err_len)
{
	struct identity_saved saved;
	int err = identity_begin(out->owner, &saved);

	if (!err) {
		err = spool_writer_create_at(spool, out->dir, OUTPUT_SPOOL);
		identity_end(&saved);
	}
	if (err)
		snprintf(err_text, err_len, "cannot create %s/" OUTPUT_SPOOL ": %s", out->path, strerror(-err));
	return err;
}

void output_discard(struct output *out)
{
	struct identity_saved saved;

	if (out->dir < 0 || identity_begin(out->owner, &saved))
		return;
	unlinkat(out->dir, OUTPUT_SPOOL, 0);
	if (out->above >= 0)
		unlinkat(out->above, out->name, AT_REMOVEDIR);
	identity_end(&saved);
}

void output_close(struct output *out)
{
	if (out->dir >= 0)
		close(out->dir);
	close_above(out);
	out->dir = -1;
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
