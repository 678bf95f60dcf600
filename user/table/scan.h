/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Splits the text of a table into words, separated by blanks; a quoted word may contain blanks, '#' begins a comment. Error
 * messages contain their position.
 */
#ifndef IOPROBE_TABLE_SCAN_H
#define IOPROBE_TABLE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct scan {
	const char *name;       /* of the source, for messages */
	const char *line_start, *at;
	unsigned line;          /* from 1 */
	char *err;
	size_t err_len;
};

struct scan_word {
	char text[128];
	unsigned column;        /* from 1, in bytes */
	bool quoted;
};

/* Reads the next word of this line. Returns 1, 0 at the end of the line, or -EINVAL (message written). */
int scan_word(struct scan *scan, struct scan_word *word);

/* Moves to the next line; returns false at the end. *indented: it begins with a blank. To be called before the first word, too. */
bool scan_line(struct scan *scan, bool *indented);

/* Writes "NAME:LINE:COLUMN: …" and returns -EINVAL. */
int scan_error(struct scan *scan, unsigned line, unsigned column, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
