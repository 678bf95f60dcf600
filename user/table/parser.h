/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the table parser, shared by its two halves: properties of layers, and the text with its rows. Functions return 0,
 * -EINVAL with the message written, or -ENOMEM.
 */
#ifndef IOPROBE_TABLE_PARSER_H
#define IOPROBE_TABLE_PARSER_H

#include <stdint.h>

#include "table/scan.h"
#include "table/words.h"

/* Properties of a layer that are said once. */
enum {
	SEEN_PARADIGM = 0x001, SEEN_SYSCALLS = 0x002, SEEN_SUCCESS = 0x004, SEEN_HANDLES = 0x008, SEEN_VERSION = 0x010,
	SEEN_PER_PROCESS = 0x020, SEEN_ERRNO = 0x040, SEEN_STATUS = 0x080, SEEN_AIOCB = 0x100, SEEN_VARIABLES_IN = 0x200,
	SEEN_NARROW = 0x400,
	SEEN_ALL = 0x7ff
};

struct parser {
	struct scan scan;
	struct table_set set;   /* the copy */
	int layer;              /* index of the one that is read, -1 before the first */
	unsigned seen;
	size_t old_layers;      /* those that were there before this text */
	unsigned *layer_lines;  /* of the new ones */
};

/* The layer that is read. */
struct table_layer *parser_layer(struct parser *p);

/* One more element at the end of an array, zeroed; NULL without memory. Such arrays, and copies of them, have room for a multiple of
 * PARSER_CHUNK elements: an array that is reallocated for each row costs seconds under a sanitizer, which moves it each time. */
#define PARSER_CHUNK 32
static inline size_t parser_room(size_t n)
{
	return (n + PARSER_CHUNK - 1) / PARSER_CHUNK * PARSER_CHUNK;
}
void *parser_append(void **array, size_t *n, size_t size);

int parser_unknown(struct parser *p, const struct scan_word *word, const char *what);

/* The next word of the line, which must be there; or its end. */
int parser_want(struct parser *p, struct scan_word *word, const char *what);
int parser_want_end(struct parser *p);

int parser_copy_text(struct parser *p, const struct scan_word *word, char *dst, size_t len, const char *what);

/* What stands behind a prefix of a word, NULL if it begins otherwise. */
const char *parser_after(const char *text, const char *prefix);

/* An indented line: a property of the layer that is read. */
int parser_property(struct parser *p);

#endif
