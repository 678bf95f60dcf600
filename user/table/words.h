/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The keywords of the probe tables' grammar and their values.
 */
#ifndef IOPROBE_TABLE_WORDS_H
#define IOPROBE_TABLE_WORDS_H

#include "table/table.h"

struct table_word { const char *name; int value; };     /* an array of them ends with a NULL name */

extern const struct table_word table_words_op[];        /* enum table_op */
extern const struct table_word table_words_mod[];       /* MOD_*, or TABLE_WORD_STDIN, TABLE_WORD_STDOUT */
extern const struct table_word table_words_role[];      /* enum table_role */
extern const struct table_word table_words_kind[];      /* enum iop_arg_kind */
extern const struct table_word table_words_result[];    /* enum table_result */
extern const struct table_word table_words_success[];   /* enum table_success */
extern const struct table_word table_words_handles[];   /* enum table_handle_kind */

#define TABLE_WORD_STDIN 0x1000000
#define TABLE_WORD_STDOUT 0x2000000

/* Returns the value of a keyword, or -1 if it is not in the array. */
int table_word_value(const struct table_word *words, const char *name);

/* Returns the default kind of value for an argument with this role, except handles of layers. */
enum iop_arg_kind table_role_kind(enum table_role role);

#endif
