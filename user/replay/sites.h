/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites: the numbers in the records of calls become contexts of the model. Functions and lines are written at the end of a
 * recording, but the first event needs them: so they are read from the spool before the replay.
 */
#ifndef IOPROBE_REPLAY_SITES_H
#define IOPROBE_REPLAY_SITES_H

#include "model/model.h"
#include "spool/spool.h"

struct call_sites;

/* Reads to the spool's end if call sites were recorded, else the first records only: then *out is NULL. A damaged rest counts as the
 * end. Returns 0 or -ENOMEM. */
int call_sites_read(struct call_sites **out, struct spool_reader *spool);
void call_sites_destroy(struct call_sites *sites);      /* NULL is fine */

/* Fills model->contexts, code_lines and sites. Returns 0 or -ENOMEM. */
int call_sites_build(struct call_sites *sites, struct model *model);

/* The model's site of a number in a call's record, REF_NONE if it is not known. sites may be NULL. */
uint32_t call_sites_lookup(const struct call_sites *sites, const struct iop_rec_call *rec);

#endif
