/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What filters excluded, by filter, layer and process.
 */
#ifndef IOPROBE_REPLAY_EXCLUDED_CALLS_H
#define IOPROBE_REPLAY_EXCLUDED_CALLS_H

#include "replay/state.h"

/* A LEFT_OUT record. Returns 0 or -ENOMEM. */
int excluded_calls_record(struct replay *r, const struct iop_rec_text *rec);

#endif
