/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One spool for each test of a replay: it is begun before and removed after the test, which fails unless the replay works.
 */
#ifndef REPLAY_FIXTURE_H
#define REPLAY_FIXTURE_H

#include "spool_builder.h"

extern struct sb sb;

int sb_setup(void **state);
int sb_teardown(void **state);

void replay(void);
void expect(const char *events);        /* replays; the events must be these */
bool noted(const char *part);           /* whether a note has this text */

#endif
