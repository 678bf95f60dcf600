/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files: one definition per path and device.
 */
#include "replay/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC_PIPE 0x50495045
#define MAGIC_SOCKET 0x534f434b
#define MAGIC_ANON_INODE 0x09041934
#define MAGIC_TMPFS 0x01021994
#define MAGIC_HUGETLBFS 0x958458f6

/* ---- paths ---- */

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t append_component(char *out, size_t used, const char *component, size_t n)
{
	if (!n || (n == 1 && component[0] == '.'))
		return used;
	if (n == 2 && component[0] == '.' && component[1] == '.') {
		while (used && out[--used] != '/')
			;
		return used;
	}
	out[used++] = '/';
	memcpy(out + used, component, n);
	return used + n;
}

static size_t append_path(char *out, size_t used, const char *path, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		used = append_component(out, used, path + start, i - start);
		start = i + 1;
	}
	return used;
}

int path_absolute(char **buf, size_t *size, const char *base, const char *path, size_t len)
{
	size_t base_len = base ? strlen(base) : 0, room = base_len + len + 3, used = 0;
	bool absolute = len && path[0] == '/';

	if (*size < room) {
		char *grown = realloc(*buf, room);

		if (!grown)
			return -ENOMEM;
		*buf = grown;
		*size = room;
	}
	if (!absolute && !base) {       /* relative to an unknown directory */
		memcpy(*buf, path, len);
		(*buf)[len] = 0;
		return 0;
	}
	if (!absolute)
		used = append_path(*buf, used, base, base_len);
	used = append_path(*buf, used, path, len);
	if (!used)
		(*buf)[used++] = '/';
	(*buf)[used] = 0;
	return 0;
}

char *path_from_names(const char *names, size_t len, bool truncated)
{
	static const char lost[] = "[truncated]";
	char *path = malloc(len + sizeof(lost) + 2);
	size_t at = 0, end = len;

	if (!path)
		return NULL;
	if (truncated)
		at = sprintf(path, "%s", lost);
	while (end && !names[end - 1])
		end--;
	while (end) {
		size_t start = end;

		while (start && names[start - 1])
			start--;
		if (end > start && !(end - start == 1 && names[start] == '/')) {
			path[at++] = '/';
			memcpy(path + at, names + start, end - start);
			at += end - start;
		}
		end = start ? start - 1 : 0;
	}
	if (!at)
		path[at++] = '/';
	path[at] = 0;
	return path;
}

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

static uint32_t file_on_device(struct replay *r, struct path_entry *entry, uint64_t dev)
{
	uint32_t ref = entry->first;

	while (ref != REF_NONE && r->files.v[ref].kernel && r->model->files.v[ref].dev != dev)
		ref = r->files.v[ref].next;
	return ref;
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
	uint32_t ref;

	if (!name)
		name = path_from_names(rec->path, rec->path_len, rec->state & IOP_FD_TRUNCATED);
	entry = name ? entry_of(r, name) : NULL;
	free(name);
	if (!entry)
		return REF_NONE;
	ref = file_on_device(r, entry, record_device(rec));
	if (ref == REF_NONE)
		ref = file_new(r, entry, process->group);
	if (ref == REF_NONE)
		return ref;
	file = &r->model->files.v[ref];
	info = &r->files.v[ref];
	if (info->kernel)
		return ref;
	info->kernel = true;
	info->group = process->group;
	info->mnt_id = special ? 0 : rec->mnt_id;
	info->dev_major = rec->dev_major;
	info->dev_minor = rec->dev_minor;
	info->described_ns = rec->rec.time_ns;
	info->scanned = rec->rec.flags & IOP_F_SCAN;
	info->regular = S_ISREG(rec->i_mode);
	file->directory = S_ISDIR(rec->i_mode);
	file->special = special;
	info->socket = rec->sb_magic == MAGIC_SOCKET;
	file->dev = record_device(rec);
	file->ino = rec->ino;
	return ref;
}

uint32_t file_of_inode(const struct replay *r, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < r->files.n; i++)
		if (r->files.v[i].kernel && r->model->files.v[i].ino == ino && r->model->files.v[i].dev == dev)
			return i;
	return REF_NONE;
}

/* ---- the end ---- */

void files_finish(struct replay *r)
{
	for (size_t i = 0; i < r->files.n; i++) {
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
	free(r->files.v);
}
