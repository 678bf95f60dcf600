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

const struct model_handle *handle_at(size_t ref);       /* of the model after replay() */
/* path NULL: the file is unknown; parent < 0: none. */
void expect_handle(size_t ref, const char *path, const char *paradigm, int64_t parent);

/* Appends a read or write, a close. */
void read_or_write(uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int fd, size_t bytes,
		   int64_t ret);
void close_descriptor(uint32_t tid, uint64_t enter, uint64_t leave, int fd);

#endif
