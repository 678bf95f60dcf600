/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where a stream goes. Each output is one file; the owner destroys it.
 */
#ifndef IOPROBE_STREAM_OUTPUTS_H
#define IOPROBE_STREAM_OUTPUTS_H

#include <stddef.h>
#include <stdio.h>

#include "stream/live.h"

/* One JSON object per line, to out (not owned). Flushed after each interval. Returns 0 or -ENOMEM. */
int live_ndjson_create(struct live_output **output, FILE *out);
void live_ndjson_destroy(struct live_output *output);

/* An SQLite database: store.sql. One transaction per interval, so that a follower that was killed goes on after the last whole
 * one, and nothing is there twice. Returns 0, or -errno with one line in err. */
int live_store_create(struct live_output **output, const char *file, char *err, size_t err_len);
void live_store_destroy(struct live_output *output);

#endif
