/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Escapes text for terminals and browsers.
 */
#include "report/escape.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

static size_t escape_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* Returns the byte at column n. */
static const char *escape_column(const char *text, size_t n)
{
	for (; *text; text++)
		if ((*text & 0xc0) != 0x80 && !n--)
			break;
	return text;
}

void escape_terminal(char *out, size_t len, const char *text, unsigned width)
{
	char *printable = utf8_printable(text ? text : "");
	size_t n = printable ? escape_columns(printable) : 0, tail;

	if (!printable || n <= width || width < 12) {
		snprintf(out, len, "%s", printable ? printable : "?");
	} else {
		tail = (width - 3) * 2 / 3;
		snprintf(out, len, "%.*s...%s", (int)(escape_column(printable, width - 3 - tail) - printable), printable,
			 escape_column(printable, n - tail));
	}
	free(printable);
}

void escape_html(FILE *out, const char *text)
{
	char *printable = utf8_printable(text ? text : "");

	for (const char *at = printable; at && *at; at++)
		switch (*at) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fputc(*at, out);
		}
	free(printable);
}
