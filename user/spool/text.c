/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The text payload of the agent's records: key=value lines with escapes, and the raw text behind them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "spool/spool.h"

/* ---- escapes ---- */

static bool needs_escape(unsigned char c)
{
	return c < 0x20 || c == '\\' || c == 0x7f;
}

/* Writes complete escapes only, and a terminating NUL if there is room for one. Returns the number of bytes without it. */
size_t text_escape(char *dst, size_t dst_len, const char *src)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	for (; *src; src++) {
		unsigned char c = *src;
		size_t n = needs_escape(c) ? 4 : 1;

		if (used + n >= dst_len)
			break;
		if (n == 1) {
			dst[used++] = c;
			continue;
		}
		dst[used++] = '\\';
		dst[used++] = 'x';
		dst[used++] = digits[c >> 4];
		dst[used++] = digits[c & 15];
	}
	if (dst_len)
		dst[used] = 0;
	return used;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static void text_unescape(char *dst, size_t dst_len, const char *src, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < len && used + 1 < dst_len; i++) {
		if (src[i] == '\\' && i + 3 < len && src[i + 1] == 'x' && isxdigit((unsigned char)src[i + 2]) &&
		    isxdigit((unsigned char)src[i + 3])) {
			dst[used++] = hex_digit(src[i + 2]) << 4 | hex_digit(src[i + 3]);
			i += 3;
		} else {
			dst[used++] = src[i];
		}
	}
	if (dst_len)
		dst[used] = 0;
}

/* ---- values ---- */

/* Finds the next line of [*at, end) without its newline; returns false at the first empty line and at the end of the text. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len)
{
	const char *newline = *at < end ? memchr(*at, '\n', end - *at) : NULL;

	*line = *at;
	*len = (newline ? newline : end) - *at;
	*at = newline ? newline + 1 : end;
	return *len;
}

bool text_value(const struct iop_rec_text *rec, const char *key, char *buf, size_t buf_len)
{
	const char *at = rec->text, *end = at + rec->text_len, *line;
	size_t key_len = strlen(key), len;

	while (next_line(&at, end, &line, &len)) {
		if (len <= key_len || line[key_len] != '=' || memcmp(line, key, key_len))
			continue;
		text_unescape(buf, buf_len, line + key_len + 1, len - key_len - 1);
		return true;
	}
	return false;
}

const char *text_raw(const struct iop_rec_text *rec, size_t *len)
{
	const char *at = rec->text, *end = at + rec->text_len, *line;
	size_t line_len;

	while (next_line(&at, end, &line, &line_len))
		;
	/* at an empty line, or at the end of a text without one */
	if (line == end)
		return NULL;
	*len = end - at;
	return at;
}

bool text_number(const struct iop_rec_text *rec, const char *key, uint64_t *number)
{
	char value[64], *end;

	if (!text_value(rec, key, value, sizeof(value)) || !value[0] || value[0] == '-')
		return false;
	*number = strtoull(value, &end, 0);
	return !*end;
}

uint64_t text_number_or_zero(const struct iop_rec_text *rec, const char *key)
{
	uint64_t number = 0;

	return text_number(rec, key, &number) ? number : 0;
}
