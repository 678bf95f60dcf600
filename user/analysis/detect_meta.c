/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls that move no data: opens, look-ups, syncs.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- metadata as a whole ---- */

static uint64_t meta_ns(const struct location_stat *s, uint64_t *n, uint64_t *gap_ns)
{
	static const enum call_class meta[] = { CLASS_OPEN, CLASS_CLOSE, CLASS_STAT, CLASS_SEEK, CLASS_DELETE, CLASS_META };
	uint64_t ns = 0;

	*n = *gap_ns = 0;
	for (size_t i = 0; i < sizeof(meta) / sizeof(*meta); i++) {
		ns += s->class_ns[meta[i]];
		*n += s->class_n[meta[i]];
		*gap_ns += s->class_gap_ns[meta[i]];
	}
	return ns;
}

/* Look-ups of paths that the thread had found before: the least that can be saved of its metadata. */
static uint64_t repeated_lookups(const struct analysis *a, uint32_t location)
{
	const struct location_stat *s = &a->facts->locations[location];
	uint64_t again = s->found - s->found_paths, all = s->class_n[CLASS_STAT];

	if (!again || !all)
		return 0;
	again = again < all ? again : all;
	return saving_remove(
		       a, &(struct removed){ a->facts->lowest, again, 0, saving_part(s->class_ns[CLASS_STAT], again, all), 0, 0 },
		       "")
		.low_ns;
}

static void name_found(const struct analysis *a, uint32_t location, char *text, size_t len)
{
	const struct location_stat *s = &a->facts->locations[location];
	const char *path = trace_string(a->trace, s->found_path), *from = trace_string(a->trace, s->found_directory);

	if (s->found_most > 1 && path)
		snprintf(text, len, "; most often, %llu times, it looks up %.200s%s%.200s", (unsigned long long)s->found_most,
			 from ? from : "", from ? "/" : "", path);
}

static void detect_metadata(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	uint32_t most = TRACE_NONE;
	uint64_t most_ns = 0, n, gap_ns;
	struct finding *f;
	size_t used;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];
		uint64_t ns = meta_ns(s, &n, &gap_ns);

		if (!location_counts(a, i) || n < a->thresholds.meta_count || ns < a->thresholds.meta_share * s->io_ns ||
		    ns <= most_ns)
			continue;
		most = i;
		most_ns = ns;
	}
	if (b && most != TRACE_NONE) {
		most_ns = meta_ns(&a->facts->locations[most], &n, &gap_ns);
		builder_add(
			b, TRACE_NONE, most,
			&(struct evidence){ n, 0, most_ns, a->facts->locations[most].first_ns, a->facts->locations[most].last_ns,
					    saving_remove(a, &(struct removed){ a->facts->lowest, n, 0, most_ns, gap_ns, 0 },
							  "look-ups of paths that were found before, up to all metadata calls") });
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	f->saving.low_ns = repeated_lookups(a, most);
	used = snprintf(f->evidence, sizeof(f->evidence),
			"%llu calls of the operating system open, close, look up or position files: %.0f %% of the I/O time",
			(unsigned long long)f->n,
			a->facts->locations[most].io_ns ? 100.0 * f->cost_ns / a->facts->locations[most].io_ns : 0.0);
	name_found(a, most, f->evidence + used, sizeof(f->evidence) - used);
}

const struct detector detector_P17 = {
	.code = "P17",
	.title = "metadata takes much of the I/O time",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_CLOSE) | CLASS_BIT(CLASS_STAT) | CLASS_BIT(CLASS_SEEK) |
		   CLASS_BIT(CLASS_DELETE),
	.when = "at least meta_count calls of a rank open, close, look up, position or remove files, and take meta_share of its "
		"I/O time",
	.why = "metadata servers are shared by all jobs, and each call waits for an answer",
	.topic = "metadata",
	.test = "look_ups",
	.detect = detect_metadata,
};

/* ---- repeated opens of the same file ---- */

static bool reopen_fires(const struct analysis *a, const struct file_layer *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i]->meta[CLASS_OPEN].n >= a->thresholds.open_count)
			return true;
	return false;
}

/* Only look-ups with a file behind them are assigned to a file; closes belong to the opens. */
static struct evidence detect_meta_reopen(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	uint64_t opens = s->meta[CLASS_OPEN].n, n = opens + s->meta[CLASS_CLOSE].n,
		 ns = s->meta[CLASS_OPEN].ns + s->meta[CLASS_CLOSE].ns,
		 gap_ns = s->meta[CLASS_OPEN].gap_ns + s->meta[CLASS_CLOSE].gap_ns;

	(void)f;
	if (opens < 2)
		return (struct evidence){ 0 };
	return (struct evidence){ opens,
				  0,
				  ns,
				  0,
				  0,
				  saving_remove(a, &(struct removed){ a->facts->lowest, n, 0, ns / opens * (opens - 1), gap_ns, 0 },
						"time of all opens but one") };
}

static void detect_reopen(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, reopen_fires, detect_meta_reopen }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu opens of %zu file%s by %u rank%s or thread%s",
			 (unsigned long long)f->n, f->nfiles, f->nfiles == 1 ? "" : "s", f->nlocations,
			 f->nlocations == 1 ? "" : "s", f->nlocations == 1 ? "" : "s");
}

const struct detector detector_X07 = {
	.code = "X07", .title = "a file is opened again and again", .on = "POSIX", .needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_CLOSE),
	.when = "one thread opens a data file at least open_count times",
	.why = "each open and close is a request to the metadata server, and drops what a library had in its cache",
	.topic = "reopen", .explains = "P17", .always_explains = true, .test = "reopen", .detect = detect_reopen,
};

/* ---- sync after every write ---- */

static bool sync_fires(const struct analysis *a, const struct file_layer *f)
{
	uint64_t writes = f->sum->dir[DIR_WRITE].n, syncs = f->sum->syncs_after_write;

	return syncs >= a->thresholds.sync_count && writes <= a->thresholds.sync_every * syncs;
}

static struct evidence detect_meta_syncs(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	uint64_t n = s->meta[CLASS_SYNC].n, ns = s->meta[CLASS_SYNC].ns;

	(void)f;
	if (n < 2)
		return (struct evidence){ 0 };
	return (struct evidence){
		n,
		s->dir[DIR_WRITE].bytes,
		ns,
		s->dir[DIR_WRITE].first_ns,
		s->dir[DIR_WRITE].last_ns,
		{ true, 0, saving_remove(a, &(struct removed){ a->facts->lowest, n - 1, 0, ns / n * (n - 1), 0, 0 }, "").high_ns,
		  "time of all syncs but one; the data must still reach the disk" }
	};
}

static void detect_sync(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, sync_fires, detect_meta_syncs }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu syncs of %zu file%s, each after few writes",
			 (unsigned long long)f->n, f->nfiles, f->nfiles == 1 ? "" : "s");
}

const struct detector detector_X08 = {
	.code = "X08",
	.title = "data is synced after every few writes",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_SYNC),
	.when = "at least sync_count syncs of a data file follow a write, and there are at most sync_every writes for each",
	.why = "a sync waits until the disk or server has the data: nothing is collected or overlapped",
	.topic = "sync",
	.test = "sync_storm",
	.detect = detect_sync,
};

/* ---- look-ups that fail ---- */

/* Old archives, and those of other recorders, have no paths. */
static void name_search(const struct analysis *a, struct finding *f)
{
	const struct location_stat *s = &a->facts->locations[f->location];

	if (s->missed_in)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu opens, stats and accesses fail, most of all look-ups; one thread asks for %llu different paths, "
			 "most often (%llu times) in %.300s",
			 (unsigned long long)f->n, (unsigned long long)s->missed_paths, (unsigned long long)s->missed_n,
			 s->missed_in[0] ? s->missed_in : "its working directory");
	else
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu opens, stats and accesses fail, most of all look-ups; the archive does not have their paths",
			 (unsigned long long)f->n);
}

static void detect_search(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];

		if (location_counts(a, i) && s->lookup_failed >= a->thresholds.lookup_failed_count &&
		    s->lookup_failed >= a->thresholds.lookup_failed_share * s->lookups)
			builder_add(b, TRACE_NONE, i,
				    &(struct evidence){
					    s->lookup_failed, 0, s->lookup_failed_ns, s->first_ns, s->last_ns,
					    saving_remove(a,
							  &(struct removed){ a->facts->lowest, s->lookup_failed, 0,
									     s->lookup_failed_ns, s->lookup_failed_gap_ns, 0 },
							  "time of the failed look-ups") });
	}
	f = builder_finish(b, "%s", "");
	if (f)
		name_search(a, f);
}

const struct detector detector_X29 = {
	.code = "X29", .title = "files are searched for where they are not", .on = "POSIX", .needs = NEED_SYSTEM | NEED_ERRORS,
	.classes = CLASS_BIT(CLASS_OPEN) | CLASS_BIT(CLASS_STAT),
	.when = "at least lookup_failed_count opens, stats or accesses of one thread fail, and lookup_failed_share of all of them",
	.why = "each miss is a request to the metadata server; long search paths multiply them by the number of ranks",
	.topic = "search", .explains = "P17", .always_explains = true, .test = "search", .detect = detect_search,
};
