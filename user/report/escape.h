/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Names come from the traced job: they must not be able to control a terminal or a browser.
 */
#ifndef IOPROBE_REPORT_ESCAPE_H
#define IOPROBE_REPORT_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* For a terminal: control characters and invalid UTF-8 become \xHH; at most width columns, shortened in the middle. */
void escape_terminal(char *out, size_t len, const char *text, unsigned width);
/* For HTML text and attribute values. */
void escape_html(FILE *out, const char *text);

#endif
