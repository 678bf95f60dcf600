/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the archive must know of a spool before the replay.
 */
#ifndef IOPROBE_REPLAY_PREVIEW_H
#define IOPROBE_REPLAY_PREVIEW_H

#include <stdbool.h>

#include "spool/spool.h"

struct replay_preview {
	/* all ranks of every launch ran here, and no batch job that may use other nodes; false if this cannot be determined */
	bool whole_job;
	bool bounded;                   /* a limit of the recording holds for the archive, too (--max-size, --min-free) */
	struct call_sites *sites;       /* the caller's (replay/sites.h); NULL: none were recorded */
};

/* Reads the spool to its end, but skips blocks of plain records; damage and errors end the reading like the end of the file.
 * Returns 0, or -ENOMEM: then there is nothing to free. */
int replay_preview(struct spool_reader *spool, struct replay_preview *preview);

#endif
