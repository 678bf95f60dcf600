/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Replay: turns the records of a spool into definitions and events. Depends on the probe tables and the model, not on BPF; needs no
 * privileges.
 */
#ifndef IOPROBE_REPLAY_H
#define IOPROBE_REPLAY_H

#include "model/model.h"
#include "spool/spool.h"

/* Reads the spool to its end (or to its last intact block) and passes every event to each sink in turn, then calls their finish.
 * The model is filled here and owned by the caller (model_deinit). Returns 0, or a negative errno with one line in err. */
int replay_run(struct spool_reader *spool, struct model *model, struct sink **sinks, size_t nsinks, char *err, size_t err_len);

/* The same with call sites (replay/sites.h) that were read from the same spool; NULL: none. The caller keeps ownership. */
struct call_sites;
int replay_run_with_sites(struct spool_reader *spool, struct call_sites *sites, struct model *model, struct sink **sinks,
			  size_t nsinks, char *err, size_t err_len);

/* The same on two threads: the caller's reads the spool and puts the records in order, that of the relay (util/relay.h, not bound)
 * turns them into events for the sinks; finish of the sinks runs on the caller's. Without a thread the caller's does all. */
struct relay;
int replay_run_relayed(struct spool_reader *spool, struct relay *relay, struct call_sites *sites, struct model *model,
		       struct sink **sinks, size_t nsinks, char *err, size_t err_len);

#endif
