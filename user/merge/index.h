/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From a key of a few numbers, or a text, to a ref: what is the same on several nodes gets one ref.
 */
#ifndef IOPROBE_MERGE_INDEX_H
#define IOPROBE_MERGE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "model/build.h"

#define INDEX_WORDS 5
struct index_key { uint32_t v[INDEX_WORDS]; };  /* unused ones 0 */

struct index_entry;
struct index { struct index_entry *entries; };  /* starts zeroed */

/* The value under key; it is *value if there was none. 0 or -ENOMEM. */
int index_get(struct index *index, struct index_key key, uint32_t *value);
void index_deinit(struct index *index);

/* Strings in the order of their refs. */
struct text_entry;
struct texts {
	struct text_entry *entries;
	MODEL_ARRAY(const char *, v);   /* texts by ref */
};
uint32_t texts_ref(struct texts *texts, const char *text);      /* REF_NONE without memory */
void texts_deinit(struct texts *texts);

#endif
