/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls that take longer and longer, and time above the system.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- slower from call to call ---- */

static bool detect_decay_decays(const struct analysis *a, const struct call_stat *c, double *lost_ns, bool *measured)
{
	struct trend time, below;

	if (!c->series || c->outer_n < a->thresholds.decay_count || !series_is_even(c->series))
		return false;
	time = series_trend(c->series, false);
	below = series_trend(c->series, true);
	*measured = below.p < 0.01 && below.growth > 0 && below.growth >= a->thresholds.decay_share * below.start;
	*lost_ns = (c->outer_ns / (double)c->outer_n - time.start) * c->outer_n;
	/* Without growing work below it may be the disk that fills its cache: only calls of upper layers are judged then. */
	return time.start > 0 && time.p < 0.01 && time.growth >= a->thresholds.decay_share * time.start && *lost_ns > 0 &&
	       (*measured || (c->key.region != TRACE_NONE && a->trace->regions.v[c->key.region].layer < LAYER_ISOC));
}

static void detect_decay(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	bool measured = false, all_measured = true;
	double lost, most = 0;
	struct trend worst = { 0 };
	struct finding *f;
	char first[24], growth[24];

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (c->key.file >= a->trace->files.n || a->facts->file_class[c->key.file] != FILE_DATA ||
		    !detect_decay_decays(a, c, &lost, &measured))
			continue;
		builder_add(
			b, c->key.file, c->key.location,
			&(struct evidence){ c->outer_n,
					    c->asked[0] + c->asked[1],
					    c->outer_ns,
					    c->first_ns,
					    c->last_ns,
					    { true, measured ? lost / 2 : 0, lost, "all calls as fast as the first quarter" } });
		builder_add_call(b, c);
		all_measured &= measured;
		if (lost > most) {
			most = lost;
			worst = series_trend(c->series, false);
		}
	}
	words_seconds(first, sizeof(first), worst.start);
	words_seconds(growth, sizeof(growth), worst.growth);
	f = builder_finish(b, "calls that ask for as much each time take %s at first and %s more at the end", first, growth);
	if (!f)
		return;
	f->inferred = !all_measured;
	if (f->inferred)
		f->severity = SEVERITY_NOTE; /* a machine that became busy looks the same */
}

const struct detector detector_X26 = {
	.code = "X26",
	.title = "a call becomes slower each time",
	.on = "outermost calls",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "one call site makes at least decay_count data calls of equal size on a data file, whose time grows by decay_share "
		"of the first quarter's median (slope by Theil and Sen, p < 0.01 by Mann and Kendall); for a call of an upper "
		"layer (always a note), or if the bytes moved below it grow by as much",
	.why = "an index that is searched, a file that is read from its beginning, or space that is fragmented grows with each "
	       "step",
	.topic = "decay",
	.explains = "X01 P09 X06",
	.test = "synthetic_decay",
	.detect = detect_decay,
};

/* ---- time above the system ---- */

static void detect_above(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];
		uint64_t n = 0;

		for (enum trace_layer l = 0; l < LAYER_ISOC; l++)
			n += s->frames[l];
		if (location_counts(a, i) && n && s->library_ns > a->thresholds.above_share * s->io_ns)
			builder_add(
				b, TRACE_NONE, i,
				&(struct evidence){
					n,
					0,
					s->library_ns,
					s->first_ns,
					s->last_ns,
					{ true, 0,
					  saving_remove(a, &(struct removed){ LAYER_HDF5, n, 0, s->library_ns, 0, 0 }, "").high_ns,
					  "all of it, if the libraries cost nothing" } });
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	f->inferred = true;
	f->severity = SEVERITY_NOTE;
	snprintf(f->evidence, sizeof(f->evidence),
		 "%.0f %% of the I/O time of that rank is in I/O libraries, neither in system calls nor in MPI",
		 100.0 * f->cost_ns / a->facts->locations[f->location].io_ns);
}

const struct detector detector_X09 = {
	.code = "X09",
	.title = "much of the I/O time is above the system",
	.on = "upper layers",
	.info = true,
	.needs = NEED_SYSTEM | NEED_UPPER,
	.when = "above_share of a rank's I/O time is neither in system calls nor in MPI. Always a note: libraries that exchange "
		"data without MPI's functions wait there too; X33 names single calls",
	.why = "a faster file system does not help with this part",
	.topic = "library",
	.test = "synthetic_above",
	.detect = detect_above,
};
