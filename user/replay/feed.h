/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Feeds a replay with the records of a spool in the order of their times.
 */
#ifndef IOPROBE_REPLAY_FEED_H
#define IOPROBE_REPLAY_FEED_H

#include "replay/state.h"

struct relay;

/* The replay of one record, in the order of time. Returns 0, or a negative errno, which ends it. */
typedef int (*feed_fn)(struct replay *r, const struct iop_rec *rec);

/* Reads the spool to its end. relay: the replay runs on its thread; NULL: on the caller's. Returns 0 or the replay's error. */
int feed_spool(struct replay *r, struct spool_reader *spool, struct relay *relay, feed_fn fn);

#endif
