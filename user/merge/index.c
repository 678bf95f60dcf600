/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two hash tables.
 */
#include "merge/index.h"
#include "util/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


struct index_entry { struct index_key key; uint32_t value; UT_hash_handle hh; };

int index_get(struct index *index, struct index_key key, uint32_t *value)
{
	struct index_entry *entry;

	HASH_FIND(hh, index->entries, &key, sizeof(key), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->key = key;
		entry->value = *value;
		HASH_ADD(hh, index->entries, key, sizeof(entry->key), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return -ENOMEM;
		}
	}
	*value = entry->value;
	return 0;
}

void index_deinit(struct index *index)
{
	struct index_entry *entry, *next;

	HASH_ITER(hh, index->entries, entry, next) {
		HASH_DEL(index->entries, entry);
		free(entry);
	}
}

struct text_entry { UT_hash_handle hh; uint32_t ref; char text[]; };

uint32_t texts_ref(struct texts *texts, const char *text)
{
	size_t len = strlen(text);
	struct text_entry *entry;
	const char **slot;

	HASH_FIND(hh, texts->entries, text, len, entry);
	if (entry)
		return entry->ref;
	entry = malloc(sizeof(*entry) + len + 1);
	slot = entry ? MODEL_ADD(texts->v) : NULL;
	if (!slot) {
		free(entry);
		return REF_NONE;
	}
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->text, text, len + 1);
	entry->ref = texts->v.n - 1;
	*slot = entry->text;
	HASH_ADD(hh, texts->entries, text, len, entry);
	if (entry->hh.tbl)
		return entry->ref;
	texts->v.n--;
	free(entry);
	return REF_NONE;
}

void texts_deinit(struct texts *texts)
{
	struct text_entry *entry, *next;

	HASH_ITER(hh, texts->entries, entry, next) {
		HASH_DEL(texts->entries, entry);
		free(entry);
	}
	free(texts->v.v);
}
