/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Code mappings of processes, from MAPPING records. A forked process begins with its parent's mappings, an exec drops them.
 */
#include "replay/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A file that is mapped by many processes has one entry; key: its identity. */
struct code_file_entry { const char *key; uint32_t index; UT_hash_handle hh; };

static int code_file_add(struct replay *r, const char *key, const struct model_code_file *file, uint32_t *index)
{
	struct code_file_entry *entry = calloc(1, sizeof(*entry));
	struct model_code_file *added = entry ? MODEL_ADD(r->model->code_files) : NULL;

	if (!added) {
		free(entry);
		return -ENOMEM;
	}
	*added = *file;
	added->path = model_string(r->model, file->path, strlen(file->path));
	added->build_id = file->build_id ? model_string(r->model, file->build_id, strlen(file->build_id)) : NULL;
	entry->key = key;
	*index = entry->index = r->model->code_files.n - 1;
	HASH_ADD_KEYPTR(hh, r->code_files, entry->key, strlen(entry->key), entry);
	if (!hash_added(entry)) {
		free(entry);
		return -ENOMEM;
	}
	return added->path && (added->build_id || !file->build_id) ? 0 : -ENOMEM;
}

static int code_file_get(struct replay *r, const struct model_code_file *file, uint32_t *index)
{
	struct code_file_entry *entry;
	const char *key;
	char *text;
	int ret;

	if (asprintf(&text, "%llx:%llx:%s:%d:%s", (unsigned long long)file->dev, (unsigned long long)file->ino,
		     file->build_id ? file->build_id : "", file->deleted, file->path) < 0)
		return -ENOMEM;
	HASH_FIND_STR(r->code_files, text, entry);
	if (entry) {
		*index = entry->index;
		free(text);
		return 0;
	}
	key = model_string(r->model, text, strlen(text));
	free(text);
	ret = key ? code_file_add(r, key, file, index) : -ENOMEM;
	return ret;
}

int mapping_add(struct replay *r, struct process *process, const struct model_code_file *file, const struct model_mapping *mapping)
{
	uint32_t index, *own;
	struct model_mapping *added;
	int ret = code_file_get(r, file, &index);

	if (ret)
		return ret;
	added = MODEL_ADD(r->model->mappings);
	own = added ? MODEL_ADD(process->mappings) : NULL;
	if (!own)
		return -ENOMEM;
	*added = *mapping;
	added->group = process->group;
	added->code_file = index;
	*own = r->model->mappings.n - 1;
	return 0;
}

const struct model_mapping *mapping_find(const struct replay *r, const struct process *process, uint64_t address)
{
	for (size_t i = process->mappings.n; i-- > 0;) {
		const struct model_mapping *mapping = &r->model->mappings.v[process->mappings.v[i]];

		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

int mappings_inherit(struct process *child, const struct process *parent)
{
	for (size_t i = 0; i < parent->mappings.n; i++) {
		uint32_t *own = MODEL_ADD(child->mappings);

		if (!own)
			return -ENOMEM;
		*own = parent->mappings.v[i];
	}
	return 0;
}

void mappings_drop(struct process *process)
{
	free(process->mappings.v);
	memset(&process->mappings, 0, sizeof(process->mappings));
}

void mappings_free(struct replay *r)
{
	struct code_file_entry *entry, *next;

	HASH_ITER(hh, r->code_files, entry, next) {
		HASH_DEL(r->code_files, entry);
		free(entry);
	}
}
