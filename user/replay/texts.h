/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's text records: host, tables, processes, mounts, libraries, and notes on what was not observed.
 */
#ifndef IOPROBE_REPLAY_TEXTS_H
#define IOPROBE_REPLAY_TEXTS_H

#include "replay/state.h"

int text_record(struct replay *r, const struct iop_rec_text *rec);
/* for an END record: time of the oldest record that was refused at a limit, 0: none */
uint64_t text_bound_ns(const struct iop_rec_text *end);

/* Returns whether a record has a number under the key. */
bool text_number(const struct iop_rec_text *rec, const char *key, uint64_t *number);
/* 0: it has none, too. */
uint64_t text_number_or_zero(const struct iop_rec_text *rec, const char *key);

#endif
