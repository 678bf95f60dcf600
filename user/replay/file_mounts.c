/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds the mount of each file at the end, when all mount tables are known.
 */
#include "replay/file_mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/paths.h"

#define RACE_NS 1000000000      /* between the description of a mount by one thread and that of a file by another */

/* ---- the tables that the agent read ---- */

/* File systems on which stat(2) shows a device number per volume or file, and mountinfo that of the super block. */
static bool has_other_numbers(const char *fs_type)
{
	return !strcmp(fs_type, "btrfs") || !strcmp(fs_type, "bcachefs") || !strcmp(fs_type, "overlay") || !strcmp(fs_type, "aufs");
}

/* Mount ids are reused as soon as they are free: the mount must be of the file's file system. */
static bool is_mount_of(const struct mount_row *row, const struct file_info *info)
{
	return (row->dev_major == info->dev_major && row->dev_minor == info->dev_minor) ||
	       (info->scanned && has_other_numbers(row->fs_type));
}

/* Returns the distance between a mount table and the time at which the file was described. A table read before is preferred, the
 * latest one first; a table read after may be wrong. */
static uint64_t file_mounts_distance(const struct mount_table *table, uint64_t time_ns)
{
	return table->time_ns <= time_ns ? (time_ns - table->time_ns) / 2 : UINT64_MAX / 2 + (table->time_ns - time_ns) / 2;
}

/* Mount ids are unique over all mount namespaces of the kernel at one time. Returns NULL if the mount is unknown. */
static const struct mount_row *mount_of_id(const struct replay *r, const char *ns, const struct file_info *info)
{
	const struct mount_row *best = NULL;
	uint64_t best_distance = UINT64_MAX;
	bool best_own = false;

	for (size_t i = 0; i < r->mounts.n; i++) {
		const struct mount_table *table = &r->mounts.v[i];
		const struct mount_row *row = mounts_by_id(&table->mounts, info->mnt_id);
		bool own = ns && !strcmp(table->ns, ns);

		if (!row || !is_mount_of(row, info) || own < best_own)
			continue;
		if (own == best_own && best && file_mounts_distance(table, info->described_ns) >= best_distance)
			continue;
		best = row;
		best_own = own;
		best_distance = file_mounts_distance(table, info->described_ns);
	}
	return best;
}

static const struct mount_row *mount_of_path(const struct replay *r, const char *ns, const char *path)
{
	for (size_t i = r->mounts.n; i-- > 0;)
		if (!ns || !strcmp(r->mounts.v[i].ns, ns))
			return mounts_by_path(&r->mounts.v[i].mounts, path);
	return NULL;
}

static bool one_namespace(const struct replay *r)
{
	for (size_t i = 1; i < r->mounts.n; i++)
		if (strcmp(r->mounts.v[i].ns, r->mounts.v[0].ns))
			return false;
	return true;
}

static const struct mount_row *mount_in_tables(const struct replay *r, size_t i)
{
	const struct file_info *info = &r->files.v[i];
	const char *ns = r->infos.v[info->group].mntns, *path = r->model->files.v[i].path;

	if (info->mnt_id)
		return mount_of_id(r, ns, info);
	if (info->kernel || path[0] != '/' || (!ns && !one_namespace(r)))
		return NULL;
	return mount_of_path(r, ns, path);
}

/* ---- the kernel's descriptions ---- */

/* Returns the text at *at, which moves behind its NUL; NULL if there is none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, 0, end - text) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static void row_free(struct mount_row *row)
{
	free(row->mount_point);
	free(row->fs_type);
	free(row->source);
}

int file_mount_record(struct replay *r, const struct iop_rec_fd *rec)
{
	const char *at = rec->path, *end = at + rec->path_len, *type = next_text(&at, end), *subtype = next_text(&at, end);
	const char *source = next_text(&at, end);
	struct described_mount mount = { .time_ns = rec->rec.time_ns, .block_bytes = rec->ino }, *entry;
	struct mount_row *row = &mount.row;

	if (!source || (rec->state & IOP_FD_TRUNCATED))
		return 0;
	row->id = rec->mnt_id;
	row->dev_major = rec->dev_major;
	row->dev_minor = rec->dev_minor;
	if (asprintf(&row->fs_type, "%s%s%s", type, *subtype ? "." : "", subtype) < 0)
		return -ENOMEM;
	row->mount_point = path_from_names(at, end - at, false);
	row->source = *source ? strdup(source) : NULL;
	entry = row->mount_point && (row->source || !*source) ? MODEL_ADD(r->described_mounts) : NULL;
	if (entry)
		*entry = mount;
	else
		row_free(row);
	return entry ? 0 : -ENOMEM;
}

/* The last one under this number. */
uint32_t file_mount_described(const struct replay *r, const struct iop_rec_fd *rec)
{
	for (size_t i = r->described_mounts.n; i-- > 0;) {
		const struct mount_row *row = &r->described_mounts.v[i].row;

		if (row->id == rec->mnt_id && row->dev_major == rec->dev_major && row->dev_minor == rec->dev_minor)
			return i;
	}
	return REF_NONE;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool file_mounts_agree(const struct replay *r, uint32_t a, uint32_t b)
{
	const struct mount_row *first, *second;

	if (a == REF_NONE || b == REF_NONE || a == b)
		return true;
	first = &r->described_mounts.v[a].row;
	second = &r->described_mounts.v[b].row;
	return same_text(first->fs_type, second->fs_type) && same_text(first->source, second->source);
}

/* The mount of a file. The record of another thread may be a little younger than the description of the first file. */
static const struct described_mount *described_mount_of(const struct replay *r, const struct file_info *info)
{
	if (info->mount != REF_NONE)
		return &r->described_mounts.v[info->mount];
	for (size_t i = 0; i < r->described_mounts.n; i++) {
		const struct described_mount *mount = &r->described_mounts.v[i];

		if (mount->row.id == info->mnt_id && is_mount_of(&mount->row, info) && mount->time_ns >= info->described_ns &&
		    mount->time_ns <= info->described_ns + RACE_NS)
			return mount;
	}
	return NULL;
}

static bool file_mounts_is_below(const char *path, const char *mount_point)
{
	struct mount_row row = { .mount_point = (char *)mount_point };
	const struct mounts one = { &row, 1 };

	return mounts_by_path(&one, path);
}

/* ---- a file's mount ---- */

/* Mounts that the user or the site declared shared, where the type of the file system does not show it: FUSE, bind mounts, file
 * systems of a site. */
static bool is_declared_shared(const struct replay *r, const struct mount_row *row)
{
	for (size_t i = 0; i < r->model->shared_mounts.n; i++)
		if (!strcmp(r->model->shared_mounts.v[i], row->mount_point))
			return true;
	return false;
}

/* A mistyped path must not go unnoticed: its files would count as local to the node. */
static int check_shared_mounts(struct replay *r)
{
	int ret = 0;

	for (size_t s = 0; s < r->model->shared_mounts.n && !ret; s++) {
		bool seen = false;

		for (size_t i = 0; i < r->mounts.n && !seen; i++)
			for (size_t m = 0; m < r->mounts.v[i].mounts.n && !seen; m++)
				seen = !strcmp(r->mounts.v[i].mounts.v[m].mount_point, r->model->shared_mounts.v[s]);
		for (size_t i = 0; i < r->described_mounts.n && !seen; i++)
			seen = !strcmp(r->described_mounts.v[i].row.mount_point, r->model->shared_mounts.v[s]);
		if (!seen)
			ret = model_note(r->model, "no process had a file system mounted on %s, which was declared to be shared",
					 r->model->shared_mounts.v[s]);
	}
	return ret;
}

/* Returns the model's copy of a text, the same one for texts that are equal to the last: many files have one mount. */
static const char *file_mounts_copy_of(struct replay *r, const char **last, const char *text)
{
	if (!*last || strcmp(*last, text))
		*last = model_string(r->model, text, strlen(text));
	return *last;
}

static int set_mount(struct replay *r, struct model_file *file, const struct mount_row *row, const char *source)
{
	const char *point = r->last_mount.mount_point, *type = r->last_mount.fs_type;

	file->mount_point = file_mounts_copy_of(r, &r->last_mount.mount_point, row->mount_point);
	file->mount_source = source ? file_mounts_copy_of(r, &r->last_mount.mount_source, source) : NULL;
	file->fs_type = file_mounts_copy_of(r, &r->last_mount.fs_type, row->fs_type);
	if (file->mount_point != point || file->fs_type != type || r->last_mount.nshared != r->model->shared_mounts.n) {
		r->last_mount.scope = is_declared_shared(r, row) ? SCOPE_SHARED : mount_scope(row);
		r->last_mount.nshared = r->model->shared_mounts.n;
	}
	file->scope = r->last_mount.scope;
	return file->mount_point && (file->mount_source || !source) && file->fs_type ? 0 : -ENOMEM;
}

static void forget_mount(struct model_file *file)
{
	file->mount_point = file->mount_source = file->fs_type = NULL;
	file->scope = SCOPE_UNKNOWN;
	file->block_bytes = 0;
}

/* The source of a mount whose file system names it itself is in the mount table, if that shows the same mount. */
static const char *source_of(const struct mount_row *described, const struct mount_row *row)
{
	if (described->source || !row)
		return described->source;
	return strcmp(described->mount_point, row->mount_point) || strcmp(described->fs_type, row->fs_type) ? NULL : row->source;
}

/* Of a file that is known by name only: the kernel has described the mount for another file. 0: it has not. */
static uint64_t block_of_row(const struct replay *r, const struct mount_row *row)
{
	for (size_t i = 0; i < r->described_mounts.n; i++) {
		const struct mount_row *other = &r->described_mounts.v[i].row;

		if (other->id == row->id && other->dev_major == row->dev_major && other->dev_minor == row->dev_minor &&
		    !strcmp(other->mount_point, row->mount_point))
			return r->described_mounts.v[i].block_bytes;
	}
	return 0;
}

/* The kernel's description is that of the time of the file's first use; the mount tables were read before or after. It no longer
 * holds for a mount that was moved. */
static int set_mount_of(struct replay *r, size_t i)
{
	const struct file_info *info = &r->files.v[i];
	struct model_file *file = &r->model->files.v[i];
	const struct mount_row *row = mount_in_tables(r, i);
	const struct described_mount *described = info->mnt_id ? described_mount_of(r, info) : NULL;

	if (described && file_mounts_is_below(file->path, described->row.mount_point)) {
		file->block_bytes = described->block_bytes;
		return set_mount(r, file, &described->row, source_of(&described->row, row));
	}
	if (!row) {
		forget_mount(file);
		return 0;
	}
	file->block_bytes = block_of_row(r, row);
	return set_mount(r, file, row, row->source);
}

int file_mount_guess(struct replay *r, uint32_t file)
{
	return set_mount_of(r, file);
}

int file_mounts_finish(struct replay *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->files.n && !ret; i++)
		ret = set_mount_of(r, i);
	return ret ? ret : check_shared_mounts(r);
}

void file_mounts_free(struct replay *r)
{
	for (size_t i = 0; i < r->mounts.n; i++)
		mounts_deinit(&r->mounts.v[i].mounts);
	for (size_t i = 0; i < r->described_mounts.n; i++)
		row_free(&r->described_mounts.v[i].row);
	free(r->mounts.v);
	free(r->described_mounts.v);
}
