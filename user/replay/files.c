/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files: one definition per path, device and mount.
 */
#include "replay/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "replay/file_mounts.h"
#include "replay/paths.h"

#define MAGIC_PIPE 0x50495045
#define MAGIC_SOCKET 0x534f434b
#define MAGIC_ANON_INODE 0x09041934
#define MAGIC_TMPFS 0x01021994
#define MAGIC_HUGETLBFS 0x958458f6
#define MAGIC_PROC 0x9fa0
#define MAGIC_FUSE 0x65735546
#define MAGIC_LUSTRE 0x0bd00bd0

/* ---- definitions ---- */

static struct path_entry *entry_of(struct replay *r, const char *path)
{
	struct path_entry *entry;
	size_t len = strlen(path);

	HASH_FIND(hh, r->paths, path, len, entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->path = model_string(r->model, path, len);
	if (!entry->path) {
		free(entry);
		return NULL;
	}
	entry->first = REF_NONE;
	HASH_ADD_KEYPTR(hh, r->paths, entry->path, len, entry);
	if (hash_added(entry))
		return entry;
	free(entry);
	return NULL;
}

static uint32_t file_new(struct replay *r, struct path_entry *entry, uint32_t group)
{
	struct model_file *file = MODEL_ADD(r->model->files);
	struct file_info *info = file ? MODEL_ADD(r->files) : NULL;

	if (!info)
		return REF_NONE;
	file->path = entry->path;
	info->group = group;
	info->mount = REF_NONE;
	info->next = entry->first;
	entry->first = r->model->files.n - 1;
	return entry->first;
}

uint32_t file_by_path(struct replay *r, struct process *process, const char *path)
{
	struct path_entry *entry = entry_of(r, path);

	if (!entry)
		return REF_NONE;
	return entry->first != REF_NONE ? entry->first : file_new(r, entry, process->group);
}

static uint64_t record_device(const struct iop_rec_fd *rec)
{
	return (uint64_t)rec->dev_major << 20 | rec->dev_minor;
}

/* Returns whether a described file may be the same as another one of this path, device and mount. Device numbers are reused: in
 * mount namespaces of their own, processes have different file systems with the same number on the same mount point. */
static bool is_same_place(const struct replay *r, uint32_t ref, uint64_t dev, uint32_t mount)
{
	const struct file_info *info = &r->files.v[ref];

	return r->model->files.v[ref].dev == dev && file_mounts_agree(r, info->mount, mount);
}

static uint32_t file_in_place(struct replay *r, struct path_entry *entry, uint64_t dev, uint32_t mount)
{
	uint32_t ref = entry->first;

	while (ref != REF_NONE && r->files.v[ref].kernel && !is_same_place(r, ref, dev, mount))
		ref = r->files.v[ref].next;
	return ref;
}

static struct inode_use *inode_use(const struct file_info *info, uint64_t ino)
{
	for (size_t i = 0; i < info->inodes.n; i++)
		if (info->inodes.v[i].ino == ino)
			return &info->inodes.v[i];
	return NULL;
}

/* Most files have one inode, and there may be 100000 files. */
static struct inode_use *add_inode_use(struct file_info *info)
{
	size_t cap = info->inodes.cap ? 2 * info->inodes.cap : 1;
	struct inode_use *grown;

	if (info->inodes.n == info->inodes.cap) {
		grown = reallocarray(info->inodes.v, cap, sizeof(*grown));
		if (!grown)
			return NULL;
		info->inodes.v = grown;
		info->inodes.cap = cap;
	}
	return &info->inodes.v[info->inodes.n++];
}

/* A file that was replaced (rename, unlink and creat) keeps its definition: the inodes are counted, up to a limit, so that a file
 * that is replaced for ever costs no memory. An inode number that was reused at once is not seen. The numbers of procfs and FUSE
 * change for the same file, and stat(2), which a scan uses, shows others than the kernel's on some file systems. */
static bool add_inode(struct file_info *info, struct model_file *file, const struct iop_rec_fd *rec)
{
	struct inode_use *use = inode_use(info, rec->ino);

	if (rec->sb_magic == MAGIC_PROC || rec->sb_magic == MAGIC_FUSE || (rec->rec.flags & IOP_F_SCAN))
		return true;
	if (!use && info->inodes.n == MAX_INODES)
		return true;
	if (!use)
		use = add_inode_use(info);
	if (!use)
		return false;
	*use = (struct inode_use){ rec->ino, rec->rec.time_ns };
	file->inodes = info->inodes.n;
	return true;
}

/* Memory that the kernel keeps as deleted files of a mount of its own: memfd_create(2), shared memory of System V, shared anonymous
 * mappings ("dev/zero": no file's name has a slash). Several may have one name, so the inode is added. Returns NULL for others. */
static char *memory_name(const struct iop_rec_fd *rec)
{
	bool in_memory = S_ISREG(rec->i_mode) && (rec->sb_magic == MAGIC_TMPFS || rec->sb_magic == MAGIC_HUGETLBFS);
	size_t len = strnlen(rec->path, rec->path_len);
	char *name = NULL;
	int n = 0;

	if (!in_memory || !(rec->state & IOP_FD_DELETED) || len + 1 != rec->path_len)
		return NULL;
	if (!strncmp(rec->path, "memfd:", 6) || !strncmp(rec->path, "SYSV", 4))
		n = asprintf(&name, "%.*s:[%llu]", (int)len, rec->path, (unsigned long long)rec->ino);
	else if (!strcmp(rec->path, "dev/zero") || !strcmp(rec->path, "anon_hugepage"))
		n = asprintf(&name, "shared_memory:[%llu]", (unsigned long long)rec->ino);
	return n < 0 ? NULL : name;
}

/* Pipes and the like are named as the kernel shows them in /proc. Returns NULL for a file with a path. */
static char *special_name(const struct iop_rec_fd *rec)
{
	bool nameless = rec->path_len <= 1 || !rec->path[0];
	char *name = NULL;
	int n = 0;

	if (rec->sb_magic == MAGIC_PIPE || (nameless && S_ISFIFO(rec->i_mode)))
		n = asprintf(&name, "pipe:[%llu]", (unsigned long long)rec->ino);
	else if (rec->sb_magic == MAGIC_SOCKET || (nameless && S_ISSOCK(rec->i_mode)))
		n = asprintf(&name, "socket:[%llu]", (unsigned long long)rec->ino);
	else if (rec->sb_magic == MAGIC_ANON_INODE || (nameless && !(rec->i_mode & S_IFMT)))
		n = asprintf(&name, "anon_inode:%.*s", (int)strnlen(rec->path, rec->path_len), rec->path);
	else
		name = memory_name(rec);
	return n < 0 ? NULL : name;
}

uint32_t file_described(struct replay *r, struct process *process, const struct iop_rec_fd *rec)
{
	char *name = special_name(rec);
	bool special = name;
	struct path_entry *entry;
	struct model_file *file;
	struct file_info *info;
	uint32_t ref, mount;

	if (!name)
		name = path_from_names(rec->path, rec->path_len, rec->state & IOP_FD_TRUNCATED);
	entry = name ? entry_of(r, name) : NULL;
	free(name);
	if (!entry)
		return REF_NONE;
	mount = special ? REF_NONE : file_mount_described(r, rec);
	ref = file_in_place(r, entry, record_device(rec), mount);
	if (ref == REF_NONE)
		ref = file_new(r, entry, process->group);
	if (ref == REF_NONE)
		return ref;
	file = &r->model->files.v[ref];
	info = &r->files.v[ref];
	if (!special && !add_inode(info, file, rec))
		return REF_NONE;
	if (info->kernel)
		return ref;
	info->kernel = true;
	info->mount = mount;
	info->group = process->group;
	info->mnt_id = special ? 0 : rec->mnt_id;
	info->dev_major = rec->dev_major;
	info->dev_minor = rec->dev_minor;
	info->described_ns = rec->rec.time_ns;
	info->scanned = rec->rec.flags & IOP_F_SCAN;
	info->regular = S_ISREG(rec->i_mode);
	info->striped = rec->sb_magic == MAGIC_LUSTRE;
	file->directory = S_ISDIR(rec->i_mode);
	file->special = special;
	info->socket = rec->sb_magic == MAGIC_SOCKET;
	file->dev = record_device(rec);
	file->ino = rec->ino;
	return r->followed && !special && file_mount_guess(r, ref) ? REF_NONE : ref;
}

/* A renamed inode has several paths: that of its last description. */
uint32_t file_of_inode(const struct replay *r, uint64_t dev, uint64_t ino)
{
	uint32_t best = REF_NONE;
	uint64_t last_ns = 0;

	for (size_t i = 0; i < r->files.n; i++) {
		const struct inode_use *use = inode_use(&r->files.v[i], ino);

		if (!r->files.v[i].kernel || r->model->files.v[i].dev != dev || (!use && r->model->files.v[i].ino != ino))
			continue;
		if (best != REF_NONE && (!use || use->last_ns < last_ns))
			continue;
		best = i;
		last_ns = use ? use->last_ns : 0;
	}
	return best;
}

/* ---- the end ---- */

void files_finish(struct replay *r)
{
	for (size_t i = 0; i < r->files.n; i++) {
		if (r->files.v[i].has_files)
			r->model->files.v[i].directory = true;
		if (r->files.v[i].label) {
			r->model->files.v[i].path = r->files.v[i].label;
			r->model->files.v[i].special = false;
		}
	}
}

void files_free(struct replay *r)
{
	struct path_entry *entry, *next;

	HASH_ITER(hh, r->paths, entry, next) {
		HASH_DEL(r->paths, entry);
		free(entry);
	}
	for (size_t i = 0; i < r->files.n; i++)
		free(r->files.v[i].inodes.v);
	free(r->files.v);
}
