/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A short list per process; usually empty.
 */
#include "capture/gaps.h"

#include <stdlib.h>

#include "capture/notes.h"

static void gaps_write_gap(struct spool_writer *spool, pid_t pid, const struct gap *gap, uint64_t ran_ns)
{
	uint64_t from_ns = gap->from_ns > ran_ns ? gap->from_ns : ran_ns;

	if (from_ns < gap->to_ns)
		note_gap(spool, pid, gap->layer, from_ns, gap->to_ns, gap->reason);
}

void gaps_add(struct gaps *gaps, struct spool_writer *spool, pid_t pid, struct gap gap)
{
	struct gap *v = realloc(gaps->v, (gaps->n + 1) * sizeof(*v));

	if (!v) {
		gaps_write_gap(spool, pid, &gap, 0);
		return;
	}
	gaps->v = v;
	v[gaps->n++] = gap;
}

void gaps_write(struct gaps *gaps, struct spool_writer *spool, pid_t pid, uint64_t ran_ns)
{
	for (size_t i = 0; i < gaps->n; i++)
		gaps_write_gap(spool, pid, &gaps->v[i], ran_ns);
	gaps_drop(gaps);
}

void gaps_drop(struct gaps *gaps)
{
	free(gaps->v);
	*gaps = (struct gaps){ 0 };
}
