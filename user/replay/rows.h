/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts the rows of the tables to regions, paradigms and precomputed look-ups.
 */
#ifndef IOPROBE_REPLAY_ROWS_H
#define IOPROBE_REPLAY_ROWS_H

#include "replay/state.h"

int rows_read(struct replay *r, const char *name, const char *text);    /* adds a table */

#endif
