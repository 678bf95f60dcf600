/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Current activity of a recording on a terminal: the last interval by layer, and the processes and files with the most time in it.
 */
#ifndef IOPROBE_VIEW_TOP_H
#define IOPROBE_VIEW_TOP_H

#include <stdio.h>

#include "stream/live.h"

/* Writes a page for each interval to out (not owned), columns wide and at most lines high. clear: the page replaces the previous
 * one, as on a terminal. Returns 0 or -ENOMEM. */
int top_create(struct live_output **output, FILE *out, unsigned columns, unsigned lines, bool clear);
void top_destroy(struct live_output *output);

#endif
