/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counters of the BPF programs per layer and filter; the increase since the last look is written to the spool.
 */
#include "capture/excluded.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/notes.h"
#include "bpf/rings.h"

struct excluded {
	const struct filter *filter;
	const struct bpf_side *kernel;
	const struct table_set *set;
	struct spool_writer *spool;
	struct iop_excluded noted[];    /* by layer and filter */
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

/* layer NULL: describes the filter itself; counts NULL: the filter excludes the whole layer. */
static void write_note(struct spool_writer *spool, const char *filter, const char *layer, const struct iop_excluded *counts)
{
	struct note note = { 0 };

	note_add(&note, "filter", filter);
	if (layer)
		note_add(&note, "layer", layer);
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
			write_note(spool, option, set->layers[i].name, NULL);
	for (int which = 0; which < IOP_FILTERS; which++)
		if (filter->text[which][0])
			write_note(spool, filter->text[which], NULL, NULL);
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
	free(excluded);
}

static void note_one(struct excluded *excluded, size_t layer, enum iop_filter which)
{
	struct iop_excluded *noted = &excluded->noted[layer * IOP_FILTERS + which], now;
	struct iop_excluded since;

	if (bpf_side_excluded(excluded->kernel, layer, which, &now) || now.calls == noted->calls)
		return;
	since = (struct iop_excluded){
		now.calls - noted->calls, now.read_bytes - noted->read_bytes, now.written_bytes - noted->written_bytes,
		now.unknown - noted->unknown, now.time_ns - noted->time_ns,
	};
	*noted = now;
	write_note(excluded->spool, excluded_text_of(excluded->filter, which), excluded->set->layers[layer].name, &since);
}

void excluded_note(struct excluded *excluded)
{
	for (size_t layer = 0; excluded && layer < excluded->set->nlayers; layer++)
		for (int which = 0; which < IOP_FILTERS; which++)
			if (excluded_text_of(excluded->filter, which)[0])
				note_one(excluded, layer, which);
}
