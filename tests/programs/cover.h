/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the programs share that call every function of a probe table once or more: each call is made with known arguments, its
 * result is checked, and a line describes what the trace must have of it. tests/coverage/coverage.py compares; it looks at the
 * calls that golden() makes itself. A line is "FUNCTION [!ERROR] [EVENT...]", its events as coverage.py writes them.
 */
#ifndef COVER_H
#define COVER_H

#include "golden.h"

#include <fcntl.h>
#include <stdarg.h>

static char cover_text[1 << 18];
static size_t cover_len;

__attribute__((format(printf, 1, 2))) static inline void cover_expect(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	cover_len += vsnprintf(cover_text + cover_len, sizeof(cover_text) - cover_len, format, ap);
	va_end(ap);
	must(cover_len + 2 < sizeof(cover_text), "too many expectations");
	cover_text[cover_len++] = '\n';
}

/* CALL(condition, FORMAT...): the condition makes the call; the rest is its line. */
#define CALL(condition, ...) do { must(condition, #condition); cover_expect(__VA_ARGS__); } while (0)

static inline void cover_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0 && write(fd, cover_text, cover_len) == (ssize_t)cover_len && close(fd) == 0, path);
}

__attribute__((noipa)) void golden(const char *dir);

#endif
