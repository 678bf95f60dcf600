/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the lines of a stream (stream/ndjson.c) into calls of an output.
 */
#ifndef IOPROBE_COLLECT_LINES_H
#define IOPROBE_COLLECT_LINES_H

#include <jansson.h>

#include "stream/live.h"

enum lines_type { LINES_BEGIN, LINES_OTHER, LINES_INTERVAL, LINES_END };

/* Calls the output's function for one line. now: the interval with which the line came. Returns the line's type, -EBADMSG if it is
 * no line of a stream, or the output's -errno. */
int lines_take(struct live_output *output, const struct live_interval *now, const json_t *line);
/* Reads a line of the type "interval". Returns false if it is none. */
bool lines_interval(struct live_interval *interval, const json_t *line);

#endif
