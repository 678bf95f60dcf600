/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Decides whether a spool holds a whole job, so that its archive will not be merged with those of other nodes.
 */
#include "replay/replay.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch by name, or a rank: the launch's name followed by the rank's number. */
struct seen { char name[320]; long size; long ranks; UT_hash_handle hh; };

static struct seen *seen_get(struct seen **all, const char *name, bool *is_new)
{
	struct seen *s;

	HASH_FIND_STR(*all, name, s);
	*is_new = !s;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", name);
	HASH_ADD_STR(*all, name, s);
	if (hash_added(s))
		return s;
	free(s);
	return NULL;
}

/* A process has a PROCESS record for each program that it executes: a rank counts once. */
static int note_rank(struct seen **launches, struct seen **ranks, const struct iop_rec_text *rec)
{
	char launch[256] = "", rank[32], size[32], name[320];
	struct seen *l, *r;
	bool is_new;

	if (!text_value(rec, "rank", rank, sizeof(rank)))
		return 0;
	text_value(rec, "job", launch, sizeof(launch));
	l = seen_get(launches, launch, &is_new);
	snprintf(name, sizeof(name), "%s %s", launch, rank);
	r = l ? seen_get(ranks, name, &is_new) : NULL;
	if (!r)
		return -ENOMEM;
	l->ranks += is_new;
	if (text_value(rec, "size", size, sizeof(size)))
		l->size = atol(size);
	return 0;
}

static bool all_complete(struct seen *launches)
{
	for (struct seen *l = launches; l; l = l->hh.next)
		if (l->ranks != l->size)        /* 0: unknown */
			return false;
	return true;
}

static void seen_free(struct seen *all)
{
	struct seen *s, *next;

	HASH_ITER(hh, all, s, next) {
		HASH_DEL(all, s);
		free(s);
	}
}

int replay_is_whole_job(struct spool_reader *spool, bool *whole)
{
	struct seen *launches = NULL, *ranks = NULL;
	const struct iop_rec *rec;
	bool batch = false;
	char job[256];
	size_t len;
	int ret;

	while ((ret = spool_reader_next(spool, &rec, &len)) > 0) {
		if (rec->type != IOP_REC_PROCESS)
			continue;
		batch |= text_value((const void *)rec, "batch_job", job, sizeof(job));
		ret = note_rank(&launches, &ranks, (const void *)rec);
		if (ret)
			break;
	}
	*whole = !ret && !batch && all_complete(launches);
	seen_free(launches);
	seen_free(ranks);
	return ret == -EBADMSG ? 0 : ret;       /* truncated spool: later records are unknown */
}
