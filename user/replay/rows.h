/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From the rows of the tables to regions, paradigms and look-ups that are ready for use.
 */
#ifndef IOPROBE_REPLAY_ROWS_H
#define IOPROBE_REPLAY_ROWS_H

#include "replay/state.h"

int rows_read(struct replay *r, const char *name, const char *text);    /* one more table */

#endif
