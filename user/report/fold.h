/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Folds long lines of a page for a terminal.
 */
#ifndef IOPROBE_REPORT_FOLD_H
#define IOPROBE_REPORT_FOLD_H

#include <stddef.h>
#include <stdio.h>

/* Writes the text with no line longer than width columns: a longer one is folded at a blank, or cut where it has none, and
 * goes on indented. Colours have no width. Returns the number of lines; out may be NULL. */
size_t report_fold(FILE *out, const char *text, size_t width);

#endif
