/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layouts by device and inode. A file that was replaced has several inodes: a value that they do not share is unknown.
 */
#include "replay/file_stripes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_ROOM 2048

static int file_stripes_text(struct replay *r, const struct iop_rec_text *rec, const char *key, const char **to)
{
	char value[VALUE_ROOM];

	if (!text_value(rec, key, value, sizeof(value)) || !value[0])
		return 0;
	*to = model_string(r->model, value, strlen(value));
	return *to ? 0 : -ENOMEM;
}

int file_stripes_record(struct replay *r, const struct iop_rec_text *rec)
{
	struct inode_stripes *slot = MODEL_ADD(r->stripes);
	char error[256];
	int ret;

	if (!slot)
		return -ENOMEM;
	*slot = (struct inode_stripes){
		.dev = text_number_or_zero(rec, "dev_major") << 20 | text_number_or_zero(rec, "dev_minor"),
		.ino = text_number_or_zero(rec, "ino"), .known = !text_value(rec, "error", error, sizeof(error)),
		.is = { .bytes = text_number_or_zero(rec, "size"), .count = text_number_or_zero(rec, "count") },
	};
	ret = file_stripes_text(r, rec, "devices", &slot->is.devices);
	if (!ret)
		ret = file_stripes_text(r, rec, "pool", &slot->is.pool);
	return ret ? ret : file_stripes_text(r, rec, "components", &slot->is.components);
}

static int file_stripes_by_inode(const void *a, const void *b)
{
	const struct inode_stripes *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static const struct inode_stripes *file_stripes_find(const struct replay *r, uint64_t dev, uint64_t ino)
{
	const struct inode_stripes key = { .dev = dev, .ino = ino };

	return r->stripes.n ? bsearch(&key, r->stripes.v, r->stripes.n, sizeof(key), file_stripes_by_inode) : NULL;
}

static const char *file_stripes_common(const char *a, const char *b)
{
	return a && b && !strcmp(a, b) ? a : NULL;
}

/* Returns whether the file may have a layout; *known: all of its inodes have one that was read. */
static bool file_stripes_of(const struct replay *r, size_t i, struct model_stripes *is, bool *known)
{
	const struct file_info *info = &r->files.v[i];
	const struct model_file *file = &r->model->files.v[i];
	size_t n = info->inodes.n ? info->inodes.n : 1;
	bool any = info->striped;

	*known = info->inodes.n < MAX_INODES;   /* further inodes are not in the list */
	for (size_t k = 0; k < n; k++) {
		uint64_t ino = info->inodes.n ? info->inodes.v[k].ino : file->ino;
		const struct inode_stripes *one = file_stripes_find(r, file->dev, ino);

		any |= one != NULL;
		*known &= one && one->known;
		if (!one || !one->known)
			continue;
		is->bytes = !k || is->bytes == one->is.bytes ? one->is.bytes : 0;
		is->count = !k || is->count == one->is.count ? one->is.count : 0;
		is->devices = !k ? one->is.devices : file_stripes_common(is->devices, one->is.devices);
		is->pool = !k ? one->is.pool : file_stripes_common(is->pool, one->is.pool);
		is->components = !k ? one->is.components : file_stripes_common(is->components, one->is.components);
	}
	return any && info->kernel && info->regular;
}

void file_stripes_finish(struct replay *r)
{
	if (r->stripes.n)
		qsort(r->stripes.v, r->stripes.n, sizeof(*r->stripes.v), file_stripes_by_inode);
	for (size_t i = 0; i < r->files.n; i++) {
		struct model_stripes is = { 0 };
		bool known;

		if (!file_stripes_of(r, i, &is, &known))
			continue;
		if (known)
			r->model->files.v[i].stripes = is;
		else
			r->model->totals.facts_unknown++;
	}
}

void file_stripes_free(struct replay *r)
{
	free(r->stripes.v);
}
