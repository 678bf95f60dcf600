/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * UTF-8 validation, and a printable form of invalid bytes.
 */
#include "util/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_length(const unsigned char *p)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond the last code point */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return len;
}

bool utf8_valid(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = 1;

	while (*p && len) {
		len = utf8_length(p);
		p += len;
	}
	return len != 0;
}

/* C0, DEL and C1: a terminal obeys U+009B as it does ESC [. */
static bool is_control(const unsigned char *p)
{
	return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

char *utf8_printable(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *copy = malloc(4 * strlen(text) + 1), *to = copy;

	if (!copy)
		return NULL;
	while (*p) {
		size_t len = utf8_length(p);

		if (!len || is_control(p)) {
			for (size_t i = 0; i < (len ? len : 1); i++)
				to += sprintf(to, "\\x%02x", *p++);
		} else {
			memcpy(to, p, len);
			to += len;
			p += len;
		}
	}
	*to = '\0';
	return copy;
}
