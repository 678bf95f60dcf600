/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the table parser, shared by its two files: properties of layers, and rows. Functions return 0, -EINVAL with the
 * message written, or -ENOMEM.
 */
#ifndef IOPROBE_TABLE_PARSER_H
#define IOPROBE_TABLE_PARSER_H

#include <stdint.h>

#include "table/scan.h"
#include "table/words.h"

/* Properties of a layer that may occur only once. */
enum {
	SEEN_PARADIGM = 0x001, SEEN_SYSCALLS = 0x002, SEEN_SUCCESS = 0x004, SEEN_HANDLES = 0x008, SEEN_VERSION = 0x010,
	SEEN_PER_PROCESS = 0x020, SEEN_ERRNO = 0x040, SEEN_STATUS = 0x080, SEEN_AIOCB = 0x100, SEEN_VARIABLES_IN = 0x200,
	SEEN_NARROW = 0x400, SEEN_PART_OF = 0x800, SEEN_MAGIC = 0x1000,
	SEEN_ALL = 0x1fff
};

struct parser {
	struct scan scan;
	struct table_set set;   /* the copy */
	int layer;              /* index of the current layer, -1 before the first */
	unsigned seen;
	size_t old_layers;      /* number of layers before this text */
	unsigned *layer_lines;  /* of the new layers */
};

/* The current layer. */
struct table_layer *parser_layer(struct parser *p);

/* Returns a new zeroed element at the end of an array; NULL without memory. Such arrays, and copies of them, have room for
 * PARSER_CHUNK elements, or a power of two above. */
#define PARSER_CHUNK 32
static inline size_t parser_room(size_t n)
{
	size_t room = PARSER_CHUNK;

	while (room < n)
		room *= 2;
	return n ? room : 0;
}
void *parser_append(void **array, size_t *n, size_t size);

int parser_unknown(struct parser *p, const struct scan_word *word, const char *what);

/* Reads the next word of the line, which must exist; or checks that the line ends. */
int parser_want(struct parser *p, struct scan_word *word, const char *what);
int parser_want_end(struct parser *p);

int parser_copy_text(struct parser *p, const struct scan_word *word, char *dst, size_t len, const char *what);

/* Returns the part of a word after a prefix, NULL if it does not begin with it. */
const char *parser_after(const char *text, const char *prefix);

/* ---- copy.c ---- */

/* A copy to append to. Its rows, the largest part, are those of the set, which has none until the copy replaces it or is undone:
 * then it is as before. Returns 0, or -ENOMEM: it must be undone then, too. */
int parser_begin_copy(struct table_set *copy, struct table_set *set);
void parser_undo_copy(struct table_set *copy, struct table_set *set);
/* A copy of everything but the sources. */
int parser_copy_set(struct table_set *dst, const struct table_set *src);

/* ---- facts.c ---- */

/* Parses the words after the property "fact". */
int parser_fact(struct parser *p);
/* The fact of the current layer that a word of a row names. */
int parser_fact_index(struct parser *p, const struct scan_word *word, const char *name, uint8_t *index);
/* Parses what a row says of a fact, if this is what the word begins. Returns 1 if it does, 0 if not, or a negative errno. */
int parser_said(struct parser *p, const struct scan_word *word, struct table_row *row);

/* Parses an indented line: a property of the current layer. */
int parser_property(struct parser *p);

#endif
