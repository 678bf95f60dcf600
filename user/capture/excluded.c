/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counters of the BPF programs per process, layer and filter; the increase since the last look is written to the spool.
 */
#include "capture/excluded.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "capture/notes.h"
#include "bpf/rings.h"
#include "util/hash.h"

/* What was written of a process, layer and filter. */
struct noted_process {
	struct iop_excluded_key key;
	struct iop_excluded noted;
	UT_hash_handle hh;
};

struct excluded {
	const struct filter *filter;
	const struct bpf_side *kernel;
	const struct table_set *set;
	struct spool_writer *spool;
	struct noted_process *processes;
	uint64_t since_ns;              /* of the previous look */
	struct iop_excluded noted[];    /* by layer and filter: of processes for which the kernel had no room */
};

/* IOP_FILTER_REPEATED is not an option: programs that poll for completion test millions of times. */
static const char *excluded_text_of(const struct filter *filter, int which)
{
	return which == IOP_FILTER_REPEATED ? "repetition (tests of requests with the same result as the test before)" :
					      filter->text[which];
}

static void excluded_add_number(struct note *note, const char *key, uint64_t value)
{
	note_addf(note, key, "%llu", (unsigned long long)value);
}

/* layer NULL: describes the filter itself; counts NULL: the filter excludes the whole layer; pid 0: the process is not known.
 * since_ns: no call is older. */
static void write_note(struct spool_writer *spool, const char *filter, const char *layer, uint32_t pid, uint64_t since_ns,
		       const struct iop_excluded *counts)
{
	struct note note = { 0 };

	note_add(&note, "filter", filter);
	if (layer)
		note_add(&note, "layer", layer);
	if (pid)
		excluded_add_number(&note, "pid", pid), excluded_add_number(&note, "since_ns", since_ns);
	if (counts) {
		excluded_add_number(&note, "calls", counts->calls);
		excluded_add_number(&note, "read_bytes", counts->read_bytes);
		excluded_add_number(&note, "written_bytes", counts->written_bytes);
		excluded_add_number(&note, "unknown", counts->unknown);
		excluded_add_number(&note, "time_ns", counts->time_ns);
	}
	spool_writer_text(spool, IOP_REC_LEFT_OUT, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

int excluded_create(struct excluded **out, const struct filter *filter, const struct bpf_side *kernel,
		    const struct table_set *set, struct spool_writer *spool)
{
	char option[sizeof(filter->layers) + 16];

	*out = NULL;
	snprintf(option, sizeof(option), "--layers %s", filter->layers);
	for (size_t i = 0; i < set->nlayers; i++)
		if (set->layers[i].off)
			write_note(spool, option, set->layers[i].name, 0, 0, NULL);
	for (int which = 0; which < IOP_FILTERS; which++)
		if (filter->text[which][0])
			write_note(spool, filter->text[which], NULL, 0, 0, NULL);
	*out = calloc(1, sizeof(**out) + set->nlayers * IOP_FILTERS * sizeof((*out)->noted[0]));
	if (!*out)
		return -ENOMEM;
	(*out)->filter = filter;
	(*out)->kernel = kernel;
	(*out)->set = set;
	(*out)->spool = spool;
	return 0;
}

void excluded_destroy(struct excluded *excluded)
{
	struct noted_process *p, *next;

	if (!excluded)
		return;
	HASH_ITER(hh, excluded->processes, p, next) {
		HASH_DEL(excluded->processes, p);
		free(p);
	}
	free(excluded);
}

/* Writes the increase. */
static void excluded_note_increase(struct excluded *excluded, size_t layer, enum iop_filter which, uint32_t pid,
			  const struct iop_excluded *now, struct iop_excluded *noted)
{
	const struct iop_excluded since = {
		now->calls - noted->calls, now->read_bytes - noted->read_bytes, now->written_bytes - noted->written_bytes,
		now->unknown - noted->unknown, now->time_ns - noted->time_ns,
	};

	if (!since.calls)
		return;
	*noted = *now;
	write_note(excluded->spool, excluded_text_of(excluded->filter, which), excluded->set->layers[layer].name, pid,
		   excluded->since_ns, &since);
}

static struct noted_process *excluded_process_of(struct excluded *excluded, const struct iop_excluded_key *key)
{
	struct noted_process *p;

	HASH_FIND(hh, excluded->processes, key, sizeof(*key), p);
	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	p->key = *key;
	HASH_ADD(hh, excluded->processes, key, sizeof(p->key), p);
	if (hash_added(p))
		return p;
	free(p);
	return NULL;
}

static int excluded_note_process(void *arg, const struct iop_excluded_key *key, const struct iop_excluded *now)
{
	struct excluded *excluded = arg;
	struct noted_process *p = key->layer < excluded->set->nlayers ? excluded_process_of(excluded, key) : NULL;

	if (p)
		excluded_note_increase(excluded, key->layer, key->filter, key->tgid, now, &p->noted);
	return 0;
}

/* Processes that have ended make room: in the kernel, too. What could not be removed there would be counted anew if it was
 * forgotten here. */
static void excluded_drop_ended(struct excluded *excluded)
{
	struct noted_process *p, *next;
	struct iop_excluded now;
	int err;

	HASH_ITER(hh, excluded->processes, p, next) {
		if (!kill(p->key.tgid, 0) || errno != ESRCH)
			continue;
		err = bpf_side_excluded_remove(excluded->kernel, &p->key, &now);
		if (!err)
			excluded_note_increase(excluded, p->key.layer, p->key.filter, p->key.tgid, &now, &p->noted);
		else if (err != -ENOENT)
			continue;
		HASH_DEL(excluded->processes, p);
		free(p);
	}
}

void excluded_note(struct excluded *excluded)
{
	uint64_t begun_ns = monotonic_ns();
	struct iop_excluded now;

	if (!excluded)
		return;
	for (size_t layer = 0; layer < excluded->set->nlayers; layer++)
		for (int which = 0; which < IOP_FILTERS; which++)
			if (excluded_text_of(excluded->filter, which)[0] &&
			    !bpf_side_excluded(excluded->kernel, layer, which, &now))
				excluded_note_increase(excluded, layer, which, 0, &now,
					      &excluded->noted[layer * IOP_FILTERS + which]);
	bpf_side_excluded_each(excluded->kernel, excluded_note_process, excluded);
	excluded_drop_ended(excluded);
	excluded->since_ns = begun_ns;
}
