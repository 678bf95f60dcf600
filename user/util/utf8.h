/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Paths are bytes, but JSON and the Python readers of OTF2 take UTF-8 only.
 */
#ifndef IOPROBE_SINK_UTF8_H
#define IOPROBE_SINK_UTF8_H

#include <stdbool.h>

bool utf8_valid(const char *text);

/* A copy with control characters and bytes that are no valid UTF-8 written as \xHH. free(); NULL if out of memory. */
char *utf8_printable(const char *text);

#endif
