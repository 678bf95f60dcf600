/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Texts with any bytes in JSON.
 */
#ifndef IOPROBE_UTIL_JSON_TEXT_H
#define IOPROBE_UTIL_JSON_TEXT_H

#include <jansson.h>

/* Returns a string in which bytes that JSON cannot represent are written as \xHH (utf8_printable), null for a text that is NULL;
 * NULL if out of memory. */
json_t *json_text(const char *text);

#endif
