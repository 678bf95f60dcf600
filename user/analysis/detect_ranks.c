/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Work that is unevenly distributed over ranks. Bytes are those requested at the highest layer of a file: below collective calls
 * few ranks move the bytes of all, on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/beside.h"
#include "analysis/detectors.h"
#include "analysis/words.h"

/* Returns whether this is the highest layer that moved data of the file; a file's layers are adjacent. */
static bool is_highest(const struct analysis *a, const struct file_layer *f)
{
	for (const struct file_layer *above = f; above > a->files.v && above[-1].file == f->file; above--)
		if (above[-1].sum->dir[0].n + above[-1].sum->dir[1].n)
			return false;
	return f->sum->dir[0].n + f->sum->dir[1].n > 0;
}

struct spread { uint64_t least, most, sum, least_ns, most_ns, sum_ns, ranks; uint32_t location; };

/* Over all ranks, including those without any. */
static struct spread spread_of(const struct analysis *a, const struct file_layer *f, int dir)
{
	struct spread s = { .least = UINT64_MAX, .least_ns = UINT64_MAX, .location = TRACE_NONE };

	for (size_t i = 0; i < f->n; i++) {
		const struct dir_stat *d = &f->v[i]->dir[dir];

		if (location_rank(a, f->v[i]->key.location) < 0 || !d->n)
			continue;
		s.ranks++;
		s.sum += d->bytes;
		s.sum_ns += d->ns;
		s.least = d->bytes < s.least ? d->bytes : s.least;
		s.least_ns = d->ns < s.least_ns ? d->ns : s.least_ns;
		if (d->bytes >= s.most) {
			s.most = d->bytes;
			s.location = f->v[i]->key.location;
		}
		s.most_ns = d->ns > s.most_ns ? d->ns : s.most_ns;
	}
	if (s.ranks < a->facts->nranks)
		s.least = s.least_ns = 0;
	return s;
}

static void detect_imbalance(struct analysis *a, const struct detector *d, int dir)
{
	struct builder *b = builder_new(a, d);
	double worst = 0;
	uint64_t most = 0, mean = 0;

	for (size_t i = 0; b && i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];
		struct spread s;
		uint64_t even_ns;

		if (a->facts->file_class[f->file] != FILE_DATA || !is_highest(a, f))
			continue;
		s = spread_of(a, f, dir);
		/* a single rank on a file may mean one file per rank, or serial I/O (X19) */
		if (s.ranks < 2 || s.most < a->thresholds.imbalance_bytes ||
		    s.most - s.least < a->thresholds.imbalance_share * s.most)
			continue;
		even_ns = s.sum_ns / a->facts->nranks;
		for (size_t j = 0; j < f->n; j++) {
			const struct dir_stat *x = &f->v[j]->dir[dir];

			if (f->v[j]->key.location == s.location)
				builder_add(
					b, f->file, s.location,
					&(struct evidence){ x->n,
							    x->bytes,
							    x->ns,
							    x->first_ns,
							    x->last_ns,
							    { true, 0, x->ns > even_ns ? x->ns - even_ns : 0,
							      "largest against mean time, if the file system is not the limit" } });
		}
		if (s.most - s.least > worst) {
			worst = s.most - s.least;
			most = s.most;
			mean = s.sum / a->facts->nranks;
		}
	}
	struct finding *f = builder_finish(b, "%s", "");
	if (f) {
		char largest[24], average[24];

		f->inferred = true;
		words_bytes(largest, sizeof(largest), most);
		words_bytes(average, sizeof(average), mean);
		snprintf(f->evidence, sizeof(f->evidence), "one rank %s %s, the ranks %s on average",
			 dir == DIR_READ ? "reads" : "writes", largest, average);
	}
}

static void detect_written(struct analysis *a, const struct detector *d) { detect_imbalance(a, d, DIR_WRITE); }
static void detect_read(struct analysis *a, const struct detector *d) { detect_imbalance(a, d, DIR_READ); }

const struct detector detector_P21 = {
	.code = "P21",
	.title = "ranks write unequal amounts to a shared file",
	.on = "the file's highest layer",
	.needs = NEED_RANKS,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "the rank with most writes at least imbalance_bytes to a file of several writers, and the difference to the rank "
		"with least is imbalance_share of it",
	.why = "the others wait for the one with most at the next collective call",
	.topic = "balance",
	.explains = "P18 P19",
	.test = "unequal",
	.detect = detect_written,
};

const struct detector detector_P22 = {
	.code = "P22",
	.title = "ranks read unequal amounts of a shared file",
	.on = "the file's highest layer",
	.needs = NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "as P21, for reads",
	.why = "the others wait for the one with most at the next collective call",
	.topic = "balance",
	.explains = "P18 P19",
	.test = "unequal_reads",
	.detect = detect_read,
};

/* ---- serial ---- */

struct share { uint64_t bytes, written, ns; };

/* Returns the bytes of each rank on data files, at each file's highest layer. */
static struct share *rank_bytes(struct analysis *a, uint64_t *sum)
{
	struct share *of = calloc(a->trace->locations.n + 1, sizeof(*of));

	*sum = 0;
	a->failed |= !of;
	for (size_t i = 0; of && i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (a->facts->file_class[f->file] != FILE_DATA || !is_highest(a, f))
			continue;
		for (size_t j = 0; j < f->n; j++) {
			struct share *s = &of[f->v[j]->key.location];

			s->bytes += f->v[j]->dir[0].bytes + f->v[j]->dir[1].bytes;
			s->written += f->v[j]->dir[DIR_WRITE].bytes;
			s->ns += f->v[j]->dir[0].ns + f->v[j]->dir[1].ns;
			*sum += f->v[j]->dir[0].bytes + f->v[j]->dir[1].bytes;
		}
	}
	return of;
}

static void add_serial(struct analysis *a, struct builder *b, uint32_t location)
{
	for (size_t i = 0; i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (a->facts->file_class[f->file] != FILE_DATA || !is_highest(a, f))
			continue;
		for (size_t j = 0; j < f->n; j++) {
			const struct dir_stat *r = &f->v[j]->dir[0], *w = &f->v[j]->dir[1];
			uint64_t ns = r->ns + w->ns, nodes = a->facts->nnodes, writers = nodes > 1 ? nodes : a->facts->nranks;

			if (f->v[j]->key.location == location)
				builder_add(
					b, f->file, location,
					&(struct evidence){
						r->n + w->n,
						r->bytes + w->bytes,
						ns,
						r->first_ns < w->first_ns ? r->first_ns : w->first_ns,
						r->last_ns > w->last_ns ? r->last_ns : w->last_ns,
						saving_at_most(ns - ns / writers,
							       nodes > 1 ? "one writer for each node" :
									   "a part for each rank, to which no data "
									   "is brought; 0 where one can saturate "
									   "the path") });
		}
	}
}

/* With collective calls in the archive: whether data was brought to this rank before its I/O, and whether others wait for it.
 * Returns false if they do not: they had collective calls meanwhile, and none of them was waiting. */
static bool serial_is_waited_for(struct analysis *a, uint32_t location, struct finding *f)
{
	const struct location_stat *s = &a->facts->locations[location];
	struct beside_gathered of = beside_count_gathered(a, location);
	uint64_t ns = 0;
	size_t used = strlen(f->evidence);
	struct beside_waits waits;
	bool others = false;
	char text[24];

	if (!beside_find(a, location, &waits)) {
		a->failed = true;
		return true;
	}
	for (size_t i = 0; i < waits.n; i++)
		ns += waits.v[i].ns;
	free(waits.v);
	/* Our archives have no collective calls but those next to I/O: that one waits may not be in them. */
	for (uint32_t i = 0; i < a->trace->locations.n && !a->trace->ours && !ns && !others; i++)
		others = i != location && location_rank(a, i) >= 0 && beside_has_calls(a, i, s->first_ns, s->last_ns);
	words_seconds(text, sizeof(text), ns);
	if (of.gathered)
		used += snprintf(f->evidence + used, sizeof(f->evidence) - used,
				 "; %llu of its %llu spans of I/O follow MPI_Gather or MPI_Reduce", (unsigned long long)of.gathered,
				 (unsigned long long)of.spans);
	if (ns)
		snprintf(f->evidence + used, sizeof(f->evidence) - used,
			 "; meanwhile the others wait in collective calls of MPI, %s in all", text);
	else if (others)
		snprintf(f->evidence + used, sizeof(f->evidence) - used, "; no other rank waits for it in collective calls of MPI");
	f->inferred = !ns && !of.gathered;
	return ns || of.gathered || !others;
}

/* On one node the data of the others is copied to the rank, as it is copied to the page cache: as long as that, if the time is not
 * known. */
static void serial_add_gathering(struct analysis *a, uint32_t location, struct finding *f)
{
	uint64_t ns = beside_count_gathered(a, location).ns;

	if (a->facts->nnodes < 2)
		f->saving.high_ns += ns ? ns : f->saving.high_ns;
}

static void detect_serial(struct analysis *a, const struct detector *d)
{
	uint64_t sum;
	struct share *of = rank_bytes(a, &sum);
	uint32_t most = 0;
	struct builder *b;
	struct finding *f;

	for (uint32_t i = 1; of && i < a->trace->locations.n; i++)
		if (of[i].bytes > of[most].bytes)
			most = i;
	if (!of || a->facts->nranks < 4 || sum < a->thresholds.serial_bytes || of[most].bytes < a->thresholds.serial_share * sum) {
		free(of);
		return;
	}
	b = builder_new(a, d);
	if (b)
		add_serial(a, b, most);
	f = builder_finish(b, "%.0f %% of the bytes on data files go through one of %llu ranks", 100.0 * of[most].bytes / sum,
			   (unsigned long long)a->facts->nranks);
	if (f) {
		f->inferred = true;
		serial_add_gathering(a, most, f);
		if (a->facts->nnodes < 2)       /* reads may be followed by a broadcast, which is right */
			f->severity = of[most].written * 2 > of[most].bytes ? SEVERITY_WARN : SEVERITY_NOTE;
		if (!serial_is_waited_for(a, most, f))
			f->severity = SEVERITY_NOTE;
	}
	free(of);
}

const struct detector detector_X19 = {
	.code = "X19",
	.title = "one rank does the I/O of all",
	.on = "each file's highest layer",
	.needs = NEED_RANKS,
	.classes = CLASS_BIT(CLASS_WRITE) | CLASS_BIT(CLASS_READ),
	.when = "of at least 4 ranks one moves serial_share of the bytes on data files, and there are at least serial_bytes. A "
		"note if the archive of another recorder has all collective calls of MPI, and no rank waits in them meanwhile",
	.why = "the memory, network link and file system client of one node serve the whole job, which mostly waits meanwhile",
	.topic = "parallel",
	.test = "serial",
	.detect = detect_serial,
};
