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

#endif
