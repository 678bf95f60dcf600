/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the archive must know before its first event, in one pass over the blocks of the spool that have more than calls: whether
 * it holds a whole job, so that its archive will not be merged with those of other nodes; its limits; its call sites.
 */
#include "replay/preview.h"
#include "replay/sites.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch by name, or a rank: the launch's name followed by the rank's number. */
struct seen { char name[320]; long size; long ranks; UT_hash_handle hh; };
struct launches { struct seen *all, *ranks; bool batch; };

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
static int note_rank(struct launches *launches, const struct iop_rec_text *rec)
{
	char launch[256] = "", rank[32], size[32], name[320], job[256];
	struct seen *l, *r;
	bool is_new;

	launches->batch |= text_value(rec, "batch_job", job, sizeof(job));
	if (!text_value(rec, "rank", rank, sizeof(rank)))
		return 0;
	text_value(rec, "job", launch, sizeof(launch));
	l = seen_get(&launches->all, launch, &is_new);
	snprintf(name, sizeof(name), "%s %s", launch, rank);
	r = l ? seen_get(&launches->ranks, name, &is_new) : NULL;
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

static int preview_record(struct replay_preview *preview, struct launches *launches, const struct iop_rec *rec)
{
	if (rec->type == IOP_REC_HOST)
		preview->bounded = text_number_or_zero((const void *)rec, "max_size") ||
				   text_number_or_zero((const void *)rec, "min_free");
	if (rec->type == IOP_REC_PROCESS)
		return note_rank(launches, (const void *)rec);
	return call_sites_add(preview->sites, rec);
}

int replay_preview(struct spool_reader *spool, struct replay_preview *preview)
{
	struct launches launches = { 0 };
	const struct iop_rec *rec;
	int ret = 0, read = 0;
	size_t len;

	*preview = (struct replay_preview){ .sites = call_sites_create() };
	if (!preview->sites)
		return -ENOMEM;
	spool_reader_skip_plain(spool);
	while (!ret && (read = spool_reader_next(spool, &rec, &len)) > 0)
		ret = preview_record(preview, &launches, rec);
	/* in a truncated spool later records are unknown; errors of reading are the replay's to report */
	preview->whole_job = !read && !launches.batch && all_complete(launches.all);
	seen_free(launches.all);
	seen_free(launches.ranks);
	if (!ret && call_sites_were_recorded(preview->sites))
		return 0;
	call_sites_destroy(preview->sites);
	preview->sites = NULL;
	return ret;
}
