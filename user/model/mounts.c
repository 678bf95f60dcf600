/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parses the text of /proc/PID/mountinfo, see proc(5), and distinguishes file systems that nodes share from local ones.
 */
#include "model/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one row ---- */

/* Space, tab, newline, backslash and # are written as three octal digits. */
static bool is_escape(const char *text)
{
	return text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' && text[3] >= '0' &&
	       text[3] <= '7';
}

static char *unescaped_copy(const char *text)
{
	char *copy = malloc(strlen(text) + 1), *to = copy;

	while (copy && *text) {
		if (is_escape(text)) {
			*to++ = (text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	if (copy)
		*to = 0;
	return copy;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPER-OPTIONS; a source may be empty. */
struct fields { const char *numbers[3], *root, *point, *options, *type, *source, *super_options; };

static bool mounts_split(char *line, struct fields *f)
{
	const char **heads[] = { &f->numbers[0], &f->numbers[1], &f->numbers[2], &f->root, &f->point, &f->options };
	const char *tag;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		*heads[i] = strsep(&line, " ");
	do
		tag = strsep(&line, " ");
	while (tag && strcmp(tag, "-"));
	f->type = strsep(&line, " ");
	f->source = strsep(&line, " ");
	f->super_options = strsep(&line, " ");
	return f->super_options != NULL;
}

static bool mounts_parse_number(const char *text, char end, uint32_t *out, const char **rest)
{
	char *stop;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtoul(text, &stop, 10);
	if (*stop != end || value > UINT32_MAX)
		return false;
	*out = value;
	*rest = stop + (end != 0);
	return true;
}

static bool mounts_parse_numbers(const struct fields *f, struct mount_row *row)
{
	const char *rest;

	return mounts_parse_number(f->numbers[0], 0, &row->id, &rest) &&
	       mounts_parse_number(f->numbers[1], 0, &row->parent_id, &rest) &&
	       mounts_parse_number(f->numbers[2], ':', &row->dev_major, &rest) &&
	       mounts_parse_number(rest, 0, &row->dev_minor, &rest);
}

static void row_deinit(struct mount_row *row)
{
	free(row->root);
	free(row->mount_point);
	free(row->fs_type);
	free(row->source);
	free(row->options);
}

static int mounts_row_parse(char *line, struct mount_row *row)
{
	struct fields f = { 0 };
	char *options;

	*row = (struct mount_row){ 0 };
	if (!mounts_split(line, &f) || !mounts_parse_numbers(&f, row))
		return -EINVAL;
	if (asprintf(&options, "%s,%s", f.options, f.super_options) < 0)
		return -ENOMEM;
	row->root = unescaped_copy(f.root);
	row->mount_point = unescaped_copy(f.point);
	row->fs_type = unescaped_copy(f.type);
	row->source = unescaped_copy(f.source);
	row->options = unescaped_copy(options);
	free(options);
	if (row->root && row->mount_point && row->fs_type && row->source && row->options)
		return 0;
	row_deinit(row);
	return -ENOMEM;
}

/* ---- the table ---- */

static int mounts_add_row(struct mounts *mounts, char *line)
{
	struct mount_row *v = realloc(mounts->v, (mounts->n + 1) * sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	mounts->v = v;
	err = mounts_row_parse(line, &v[mounts->n]);
	if (!err)
		mounts->n++;
	return err;
}

int mounts_parse(struct mounts *out, const char *text, size_t len)
{
	char *copy = strndup(text, len), *at = copy, *line;
	int err = copy ? 0 : -ENOMEM;

	*out = (struct mounts){ 0 };
	while (!err && (line = strsep(&at, "\n")))
		if (*line)
			err = mounts_add_row(out, line);
	free(copy);
	if (err)
		mounts_deinit(out);
	return err;
}

void mounts_deinit(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++)
		row_deinit(&mounts->v[i]);
	free(mounts->v);
	*mounts = (struct mounts){ 0 };
}

const struct mount_row *mounts_by_id(const struct mounts *mounts, uint32_t id)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mounts->v[i].id == id)
			return &mounts->v[i];
	return NULL;
}

/* Returns how much of the path a mount point covers; 0 if it is not a prefix of it. */
static size_t mounts_covers(const char *mount_point, const char *path)
{
	size_t len = strlen(mount_point);

	if (!strcmp(mount_point, "/"))
		return path[0] == '/';
	return !strncmp(mount_point, path, len) && (!path[len] || path[len] == '/') ? len : 0;
}

const struct mount_row *mounts_by_path(const struct mounts *mounts, const char *path)
{
	const struct mount_row *best = NULL;
	size_t best_len = 1;

	for (size_t i = 0; i < mounts->n; i++) {
		size_t len = mounts_covers(mounts->v[i].mount_point, path);

		if (!len || len < best_len)
			continue;
		best = &mounts->v[i];
		best_len = len;
	}
	return best;
}

/* ---- scope ---- */

/* Network and cluster file systems. FUSE file systems are listed by their subtype, after "fuse.". */
static const char *const shared_types[] = {
	"nfs", "nfs4", "lustre", "gpfs", "beegfs", "fhgfs", "ceph", "cephfs", "cifs", "smb2", "smb3", "smbfs", "9p", "virtiofs",
	"glusterfs", "orangefs", "pvfs2", "panfs", "wekafs", "afs", "openafs", "coda", "gfs", "gfs2", "ocfs2", "dvs", "daos",
	"fuse.glusterfs", "fuse.sshfs", "fuse.daos", "fuse.dfuse", "fuse.ceph", "fuse.ceph-fuse", "fuse.beegfs", "fuse.orangefs",
	"fuse.juicefs", "fuse.s3fs", "fuse.gcsfuse", "fuse.mfs",
};

/* An overlay is local to a node, whatever its layers are: its changes are not visible on other nodes. */
static const char *const node_types[] = {
	"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "nilfs2", "minix",
	"vfat", "msdos", "exfat", "ntfs", "ntfs3", "hfsplus", "udf", "iso9660", "squashfs", "erofs", "cramfs", "romfs", "fuseblk",
	"tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs", "overlay", "aufs", "fuse.fuse-overlayfs", "fuse.squashfuse",
	"fuse.squashfuse_ll",
	"proc", "sysfs", "devpts", "cgroup", "cgroup2", "mqueue", "bpf", "tracefs", "debugfs", "securityfs", "configfs", "pstore",
	"efivarfs", "binfmt_misc", "fusectl", "nsfs", "pipefs", "sockfs", "anon_inodefs", "rpc_pipefs", "nfsd", "selinuxfs",
	"resctrl",
};

static bool mounts_is_one_of(const char *type, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(type, list[i]))
			return true;
	return false;
}

enum model_scope mount_scope(const struct mount_row *row)
{
	if (mounts_is_one_of(row->fs_type, shared_types, sizeof(shared_types) / sizeof(shared_types[0])))
		return SCOPE_SHARED;
	if (mounts_is_one_of(row->fs_type, node_types, sizeof(node_types) / sizeof(node_types[0])))
		return SCOPE_NODE;
	return SCOPE_UNKNOWN;
}
