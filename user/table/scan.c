/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Splits the text of a table into words, separated by blanks; a quoted word may contain blanks, '#' begins a comment. Error
 * messages contain their position.
 */
#include "table/scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

int scan_error(struct scan *scan, unsigned line, unsigned column, const char *format, ...)
{
	va_list args;
	int n = snprintf(scan->err, scan->err_len, "%s:%u:%u: ", scan->name, line, column);

	if (n >= 0 && (size_t)n < scan->err_len) {
		va_start(args, format);
		vsnprintf(scan->err + n, scan->err_len - n, format, args);
		va_end(args);
	}
	return -EINVAL;
}

static bool scan_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool line_end(char c)
{
	return !c || c == '\n';
}

/* A recording brings its tables along, and their words appear on the terminal of whoever looks at it. */
static bool scan_is_printable(const char *text)
{
	const char *at = text;
	char *printable;
	bool same;

	while (*at >= 0x20 && *at < 0x7f)
		at++;
	if (!*at)
		return true;
	printable = utf8_printable(at);
	same = printable && !strcmp(printable, at);
	free(printable);
	return same;
}

static int copy_word(struct scan *scan, struct scan_word *word, const char *end)
{
	size_t len = end - scan->at;

	if (len >= sizeof(word->text))
		return scan_error(scan, scan->line, word->column, "word longer than %zu bytes", sizeof(word->text) - 1);
	memcpy(word->text, scan->at, len);
	word->text[len] = '\0';
	if (!scan_is_printable(word->text))
		return scan_error(scan, scan->line, word->column, "the word has control characters or is no UTF-8");
	scan->at = end;
	return 1;
}

static int quoted_word(struct scan *scan, struct scan_word *word)
{
	const char *end = ++scan->at;
	int ret;

	while (!line_end(*end) && *end != '"')
		end++;
	if (*end != '"')
		return scan_error(scan, scan->line, word->column, "quote is not closed on its line");
	ret = copy_word(scan, word, end);
	if (ret > 0)
		scan->at++;
	return ret;
}

int scan_word(struct scan *scan, struct scan_word *word)
{
	const char *end;

	while (scan_blank(*scan->at))
		scan->at++;
	if (line_end(*scan->at) || *scan->at == '#')
		return 0;
	word->column = scan->at - scan->line_start + 1;
	word->quoted = *scan->at == '"';
	if (word->quoted)
		return quoted_word(scan, word);
	for (end = scan->at; !line_end(*end) && !scan_blank(*end); end++)
		;
	return copy_word(scan, word, end);
}

bool scan_line(struct scan *scan, bool *indented)
{
	if (scan->line) {
		scan->at += strcspn(scan->at, "\n");
		if (*scan->at)
			scan->at++;
	}
	if (!*scan->at)
		return false;
	scan->line++;
	scan->line_start = scan->at;
	*indented = scan_blank(*scan->at);
	return true;
}
