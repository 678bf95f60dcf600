/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's text records: host, tables, processes, mounts, libraries; what could not be seen becomes notes.
 */
#ifndef IOPROBE_REPLAY_TEXTS_H
#define IOPROBE_REPLAY_TEXTS_H

#include "replay/state.h"

int text_record(struct replay *r, const struct iop_rec_text *rec);
uint64_t text_bound_ns(const struct iop_rec_text *end);  /* of an END record: the time of the oldest record that a bound refused, 0: none */

#endif
