/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Figures that are used by several formats.
 */
#include "report/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/words.h"
#include "report/escape.h"

bool report_is_complete(const struct analysis *a)
{
	return !a->trace->losses[0] && !a->facts->damaged && !a->facts->dropped_instances;
}

void report_completeness(const struct analysis *a, char *text, size_t len)
{
	char losses[sizeof(a->trace->losses)];          /* may quote the archive, which anybody may have written */
	uint64_t calls = 0;
	int n;

	for (size_t i = 0; i < a->trace->locations.n; i++)
		for (int l = 0; l < LAYERS; l++)
			calls += a->facts->locations[i].frames[l];
	if (a->facts->filter.file || a->facts->filter.rank >= 0 || a->facts->filter.from_ns ||
	    a->facts->filter.to_ns != UINT64_MAX) {
		text += n = snprintf(text, len, "only a part is judged (--file, --rank, --from, --to); ");
		len -= n;
	}
	if (report_is_complete(a)) {
		snprintf(text, len, "%" PRIu64 " calls, %s", calls, a->trace->ours ? "complete: the recorder lost nothing" :
			 "whether it is complete is unknown: not recorded by ioprobe");
		return;
	}
	escape_terminal(losses, sizeof(losses), a->trace->losses, sizeof(losses) - 1);
	n = snprintf(text, len, "%" PRIu64 " calls, INCOMPLETE: %s", calls, losses);
	if (a->facts->damaged && n > 0 && (size_t)n < len)
		snprintf(text + n, len - n, "%s%" PRIu64 " of %zu threads cannot be read to their end",
			 a->trace->losses[0] ? ", " : "", a->facts->damaged, a->trace->locations.n);
}

/* ---- time ---- */

const char *const report_time_names[REPORT_TIMES] = {
	"read", "write", "metadata", "sync", "lock", "MPI inside I/O calls", "inside libraries"
};

void report_times(const struct analysis *a, uint32_t location, struct report_times *t)
{
	static const unsigned of[CLASSES] = {
		[CLASS_READ] = TIME_READ,   [CLASS_WRITE] = TIME_WRITE, [CLASS_OPEN] = TIME_META,     [CLASS_CLOSE] = TIME_META,
		[CLASS_STAT] = TIME_META,   [CLASS_SEEK] = TIME_META,   [CLASS_SYNC] = TIME_SYNC,     [CLASS_LOCK] = TIME_LOCK,
		[CLASS_RESIZE] = TIME_META, [CLASS_DEFINE] = TIME_META, [CLASS_REDEFINE] = TIME_META, [CLASS_ATTRIBUTE] = TIME_META,
		[CLASS_DELETE] = TIME_META, [CLASS_MAP] = TIME_META,    [CLASS_INIT] = TIME_META,     [CLASS_META] = TIME_META,
		[CLASS_NONE] = TIME_META,
	};
	const struct location_stat *s = &a->facts->locations[location];

	memset(t, 0, sizeof(*t));
	for (int c = 0; c < CLASSES; c++)
		t->ns[of[c]] += s->class_ns[c];
	t->ns[TIME_MPI] = s->mpi_ns;
	t->ns[TIME_LIBRARY] = s->library_ns;
}

static int facts_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each rank is represented by its busiest thread. */
uint64_t report_median_io(const struct analysis *a)
{
	size_t ngroups = a->trace->groups.n, n = 0;
	uint64_t *of = calloc(ngroups + 1, sizeof(*of)), median;

	for (uint32_t i = 0; of && i < a->trace->locations.n; i++) {
		uint32_t group = a->trace->locations.v[i].group;

		if (group < ngroups && location_counts(a, i) && a->facts->locations[i].io_ns > of[group])
			of[group] = a->facts->locations[i].io_ns;
	}
	for (size_t g = 0; of && g < ngroups; g++)
		if (of[g])
			of[n++] = of[g];
	if (n)
		qsort(of, n, sizeof(*of), facts_ascending);
	median = n ? of[n / 2] : 0;
	free(of);
	return median;
}

/* ---- layers and files ---- */

bool report_layer(const struct analysis *a, enum trace_layer layer, struct report_layer *r)
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];

		r->calls += s->layer[layer].calls;
		r->failed += s->layer[layer].failed;
		r->ns += s->layer[layer].ns;
		r->system_ns += s->layer[layer].system_ns;
		for (int d = 0; d < DIRS; d++) {
			r->bytes[d] += s->layer[layer].bytes[d];
			r->unknown += s->layer[layer].unknown[d];
		}
	}
	return r->calls;
}

static int facts_more_time(const void *a, const void *b)
{
	const struct report_file *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

const char *report_users_name(const struct analysis *a)
{
	return a->facts->nranks ? "ranks" : "processes";
}

/* Ranks or processes, not threads. seen: by group, the last file in whose users it was counted. */
static uint64_t count_users(const struct analysis *a, const struct file_layer *f, uint32_t *seen)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		uint32_t group = a->trace->locations.v[f->v[i]->key.location].group;

		n += group >= a->trace->groups.n || seen[group] != f->file + 1;
		if (group < a->trace->groups.n)
			seen[group] = f->file + 1;
	}
	return n;
}

size_t report_files(const struct analysis *a, struct report_file *files, size_t max)
{
	struct report_file *all = calloc(a->files.n + 1, sizeof(*all));
	uint32_t *seen = calloc(a->trace->groups.n + 1, sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; all && seen && i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (a->facts->file_class[f->file] != FILE_DATA)
			continue;
		if (n && all[n - 1].file == f->file) {
			if (all[n - 1].n[0] + all[n - 1].n[1] == 0)
				n--;            /* the layer above only opened it */
			else
				continue;
		}
		all[n] = (struct report_file){ .file = f->file, .layer = f->layer, .ns = f->sum->ns };
		for (int d = 0; d < DIRS; d++) {
			all[n].bytes[d] = f->sum->dir[d].bytes;
			all[n].n[d] = f->sum->dir[d].n;
		}
		n++;
	}
	if (n)
		qsort(all, n, sizeof(*all), facts_more_time);
	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++) {
		files[i] = all[i];
		files[i].users = count_users(a, file_layer_find(a, all[i].file, all[i].layer), seen);
	}
	free(all);
	free(seen);
	return n;
}

/* ---- findings ---- */

void report_saving(const struct finding *f, char *text, size_t len)
{
	char low[24], high[24];

	words_seconds(low, sizeof(low), f->saving.low_ns);
	words_seconds(high, sizeof(high), f->saving.high_ns);
	if (!f->saving.known)
		snprintf(text, len, "saving unknown, at most %s", high);
	else if (!f->saving.high_ns)
		snprintf(text, len, "saves nothing measurable");
	else
		snprintf(text, len, "saves %s to %s", f->saving.low_ns ? low : "0", high);
}

void report_missing(const struct analysis *a, const struct detector *d, char *text, size_t len)
{
	static const struct { enum need need; const char *name; } names[] = {
		{ NEED_OFFSETS, "offsets" }, { NEED_ERRORS, "error codes" }, { NEED_SYSTEM, "system calls" },
		{ NEED_BLOCKS, "block or stripe sizes" },
		{ NEED_COMPUTE, "CPU time of threads" }, { NEED_MEMORY, "buffer addresses" }, { NEED_HINTS, "MPI-IO hints" },
		{ NEED_STRIPES, "stripes" }, { NEED_LOCKS, "locks" }, { NEED_CHUNKS, "shapes of chunks" },
	};
	unsigned missing = d->needs & ~analysis_facts(a);

	text[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (missing & names[i].need)
			snprintf(text + strlen(text), len - strlen(text), "%s%s", text[0] ? ", " : "", names[i].name);
}
