/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Paths may contain any bytes, but JSON and the Python readers of OTF2 accept UTF-8 only.
 */
#ifndef IOPROBE_SINK_UTF8_H
#define IOPROBE_SINK_UTF8_H

#include <stdbool.h>

bool utf8_valid(const char *text);

/* Returns a copy with control characters and invalid UTF-8 bytes written as \xHH, which the caller frees; NULL if out of memory. */
char *utf8_printable(const char *text);

#endif
