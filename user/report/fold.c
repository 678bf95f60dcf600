/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines are measured in characters of UTF-8; escape sequences end with a letter.
 */
#include "report/fold.h"

#include <string.h>

#define LABEL_COLUMNS 9 /* "command  " */
#define TEXT_COLUMNS 5 /* of what stands below a finding's heading */

/* Bytes of the character or escape sequence at this place; *columns: its width. */
static size_t next_character(const char *at, size_t *columns)
{
	size_t n = 1;

	*columns = *at != '\33';
	if (*at == '\33') {
		n += strcspn(at + 1, "mK\n");
		return at[n] && at[n] != '\n' ? n + 1 : n;
	}
	while ((at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* Bytes of the text that fit into a line; *rest: where the next line begins, NULL if that ends the text's line. */
static size_t fold_fit(const char *text, size_t len, size_t width, size_t indent, const char **rest)
{
	size_t columns = 0, blank = 0;

	*rest = NULL;
	for (size_t i = 0, w; i < len; columns += w) {
		size_t n = next_character(text + i, &w);

		if (text[i] == ' ' && i > indent)
			blank = i;
		if (columns + w > width) {
			size_t end = blank ? blank : i;

			*rest = text + end + (blank ? strspn(text + end, " ") : 0);
			return end;
		}
		i += n;
	}
	return len;
}

static size_t fold_line(FILE *out, const char *text, size_t len, size_t width)
{
	size_t blanks = strspn(text, " "), lines = 0,
	       indent = !blanks                 ? LABEL_COLUMNS
			: blanks > TEXT_COLUMNS ? blanks
						: TEXT_COLUMNS;
	const char *end = text + len, *rest = text;

	while (rest) {
		const char *part = rest;
		size_t n = fold_fit(part, end - part, lines ? width - indent : width, lines ? 0 : blanks, &rest);

		if (rest == end)
			rest = NULL;
		if (out)
			fprintf(out, "%*s%.*s\n", lines ? (int)indent : 0, "", (int)n, part);
		lines++;
	}
	return lines;
}

size_t report_fold(FILE *out, const char *text, size_t width)
{
	size_t lines = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		lines += fold_line(out, text, len, width);
		text += len + (text[len] == '\n');
	}
	return lines;
}
