/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What kind of I/O a run does: facts that a reader asks for first, no mistakes. All of them are notes.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- reads against writes, at the lowest layer ---- */

struct totals { uint64_t n[DIRS], bytes[DIRS]; };

static struct totals totals_of(const struct analysis *a)
{
	struct totals t = { { 0 }, { 0 } };

	for (size_t i = 0; i < a->files.n; i++)
		for (int d = 0; d < DIRS; d++)
			if (a->files.v[i].layer == a->facts->lowest && a->facts->file_class[a->files.v[i].file] == FILE_DATA) {
				t.n[d] += a->files.v[i].sum->dir[d].n;
				t.bytes[d] += a->files.v[i].sum->dir[d].bytes;
			}
	return t;
}

static bool detect_usage_dominates(const struct analysis *a, uint64_t more, uint64_t less)
{
	return more > less && more - less > a->thresholds.dominate_share * (more + less);
}

/* One note that is of no file, on the thread with most I/O time. */
static void add_info(struct analysis *a, const struct detector *d, uint64_t n, uint64_t bytes, const char *evidence)
{
	struct builder *b = a->worst == TRACE_NONE || !n ? NULL : builder_new(a, d);

	if (!b)
		return;
	builder_add(b, TRACE_NONE, a->worst, &(struct evidence){ n, bytes, 0, 0, 0, saving_at_most(0, "nothing to save") });
	builder_finish(b, "%s", evidence);
}

static void detect_count(struct analysis *a, const struct detector *d, int dir)
{
	struct totals t = totals_of(a);
	char text[160];

	if (!detect_usage_dominates(a, t.n[dir], t.n[!dir]))
		return;
	snprintf(text, sizeof(text), "%llu writes and %llu reads on data files", (unsigned long long)t.n[DIR_WRITE],
		 (unsigned long long)t.n[DIR_READ]);
	add_info(a, d, t.n[dir], t.bytes[dir], text);
}

static void detect_bytes(struct analysis *a, const struct detector *d, int dir)
{
	struct totals t = totals_of(a);
	char text[160], in[24], out[24];

	if (!detect_usage_dominates(a, t.bytes[dir], t.bytes[!dir]))
		return;
	words_bytes(in, sizeof(in), t.bytes[DIR_READ]);
	words_bytes(out, sizeof(out), t.bytes[DIR_WRITE]);
	snprintf(text, sizeof(text), "%s written to data files and %s read", out, in);
	add_info(a, d, t.n[dir], t.bytes[dir], text);
}

static void detect_more_writes(struct analysis *a, const struct detector *d) { detect_count(a, d, DIR_WRITE); }
static void detect_more_reads(struct analysis *a, const struct detector *d) { detect_count(a, d, DIR_READ); }
static void detect_more_written(struct analysis *a, const struct detector *d) { detect_bytes(a, d, DIR_WRITE); }
static void detect_more_read(struct analysis *a, const struct detector *d) { detect_bytes(a, d, DIR_READ); }

#define DOMINATES(c, what, function, name) \
	const struct detector detector_##c = { \
		.code = #c, \
		.title = (what), \
		.on = "POSIX", \
		.info = true, \
		.needs = NEED_SYSTEM, \
		.when = "the difference is more than dominate_share of their sum", \
		.why = "shows which direction is worth a look", \
		.test = (name), \
		.detect = (function), \
	}
DOMINATES(P01, "more writes than reads", detect_more_writes, "synthetic_writes");
DOMINATES(P02, "more reads than writes", detect_more_reads, "synthetic_reads");
DOMINATES(P03, "more bytes written than read", detect_more_written, "synthetic_writes");
DOMINATES(P04, "more bytes read than written", detect_more_read, "synthetic_reads");

/* ---- order ---- */

static void detect_order(struct analysis *a, const struct detector *d, int dir)
{
	uint64_t positioned = 0, sequential = 0, near = 0, n = 0;
	char text[160];

	for (size_t i = 0; i < a->files.n; i++) {
		const struct dir_stat *s = &a->files.v[i].sum->dir[dir];

		if (a->files.v[i].layer != a->facts->lowest || a->facts->file_class[a->files.v[i].file] != FILE_DATA || s->doubtful)
			continue;
		positioned += s->positioned;
		sequential += s->sequential;
		near += s->near;
		n += s->n;
	}
	if (positioned < a->thresholds.random_count || positioned * 2 < n || sequential * 2 < positioned ||
	    (positioned - sequential - near) > a->thresholds.random_share * positioned)
		return;
	snprintf(text, sizeof(text), "%.0f %% of the %s begin where the one before ended, %.0f %% at most 1 MiB behind it",
		 100.0 * sequential / positioned, dir == DIR_READ ? "reads" : "writes", 100.0 * near / positioned);
	add_info(a, d, positioned, 0, text);
}

static void detect_read_order(struct analysis *a, const struct detector *d) { detect_order(a, d, DIR_READ); }
static void detect_write_order(struct analysis *a, const struct detector *d) { detect_order(a, d, DIR_WRITE); }

const struct detector detector_P13 = {
	.code = "P13",
	.title = "reads are in order",
	.on = "POSIX",
	.info = true,
	.fine = true,
	.needs = NEED_SYSTEM | NEED_OFFSETS,
	.when = "at least random_count reads of data files, half of them in sequence and no more than random_share at random",
	.why = "read-ahead works",
	.test = "synthetic_reads",
	.detect = detect_read_order,
};

const struct detector detector_P14 = {
	.code = "P14",
	.title = "writes are in order",
	.on = "POSIX",
	.info = true,
	.fine = true,
	.needs = NEED_SYSTEM | NEED_OFFSETS,
	.when = "as P13, for writes",
	.why = "the file system can join neighbouring requests",
	.test = "synthetic_writes",
	.detect = detect_write_order,
};

/* ---- MPI-IO ---- */

static bool uses_mpiio(const struct analysis *a)
{
	for (size_t i = 0; i < a->trace->locations.n; i++)
		if (a->facts->locations[i].layer[LAYER_MPIIO].calls)
			return true;
	return false;
}

static void detect_no_mpiio(struct analysis *a, const struct detector *d)
{
	uint64_t files = 0, n = 0;
	char text[160];

	for (size_t i = 0; i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];
		uint64_t users = 0;

		for (size_t j = 0; j < f->n && f->layer == a->facts->lowest && a->facts->file_class[f->file] == FILE_DATA; j++)
			users += location_rank(a, f->v[j]->key.location) >= 0 && f->v[j]->dir[0].n + f->v[j]->dir[1].n;
		files += users > 1;
		n += users > 1 ? f->sum->dir[0].n + f->sum->dir[1].n : 0;
	}
	if (!files || uses_mpiio(a))
		return;
	snprintf(text, sizeof(text), "ranks share %llu data file%s without MPI-IO", (unsigned long long)files,
		 files == 1 ? "" : "s");
	add_info(a, d, n, 0, text);
}

const struct detector detector_M01 = {
	.code = "M01",
	.title = "a parallel program without MPI-IO",
	.on = "job",
	.info = true,
	.needs = NEED_SYSTEM | NEED_RANKS,
	.when = "several ranks read or write one data file, and no call of MPI-IO is recorded",
	.why = "the MPI library could join what the ranks ask for; each alone is right where files are not shared",
	.test = "synthetic_no_mpiio",
	.detect = detect_no_mpiio,
};

static struct dir_stat mpiio_sum(const struct analysis *a, int dir)
{
	struct dir_stat sum = { 0 };

	for (size_t i = 0; i < a->files.n; i++)
		if (a->files.v[i].layer == LAYER_MPIIO && a->facts->file_class[a->files.v[i].file] == FILE_DATA) {
			sum.n += a->files.v[i].sum->dir[dir].n;
			sum.bytes += a->files.v[i].sum->dir[dir].bytes;
			sum.collective += a->files.v[i].sum->dir[dir].collective;
			sum.non_blocking += a->files.v[i].sum->dir[dir].non_blocking;
		}
	return sum;
}

static void detect_collectives(struct analysis *a, const struct detector *d, int dir)
{
	struct dir_stat sum = mpiio_sum(a, dir);
	char text[160];

	if (!sum.collective)
		return;
	snprintf(text, sizeof(text), "%llu of %llu %s of MPI-IO are collective", (unsigned long long)sum.collective,
		 (unsigned long long)sum.n, dir == DIR_READ ? "reads" : "writes");
	add_info(a, d, sum.collective, 0, text);
}

static void detect_blocking(struct analysis *a, const struct detector *d, int dir)
{
	struct dir_stat sum = mpiio_sum(a, dir);
	char text[160];

	if (!sum.n || sum.non_blocking)
		return;
	snprintf(text, sizeof(text), "%llu %s of MPI-IO, none of them non-blocking", (unsigned long long)sum.n,
		 dir == DIR_READ ? "reads" : "writes");
	add_info(a, d, sum.n, sum.bytes, text);
}

static void detect_collective_reads(struct analysis *a, const struct detector *d) { detect_collectives(a, d, DIR_READ); }
static void detect_collective_writes(struct analysis *a, const struct detector *d) { detect_collectives(a, d, DIR_WRITE); }
static void detect_blocking_reads(struct analysis *a, const struct detector *d) { detect_blocking(a, d, DIR_READ); }
static void detect_blocking_writes(struct analysis *a, const struct detector *d) { detect_blocking(a, d, DIR_WRITE); }

const struct detector detector_M04 = {
	.code = "M04",
	.title = "collective reads are used",
	.on = "MPI-IO",
	.info = true,
	.fine = true,
	.needs = NEED_MPIIO,
	.when = "a read of MPI-IO is collective",
	.why = "the MPI library can join what ranks ask for",
	.test = "synthetic_mpiio_collective",
	.detect = detect_collective_reads,
};

const struct detector detector_M05 = {
	.code = "M05",
	.title = "collective writes are used",
	.on = "MPI-IO",
	.info = true,
	.fine = true,
	.needs = NEED_MPIIO,
	.when = "a write of MPI-IO is collective",
	.why = "the MPI library can join what ranks write",
	.test = "synthetic_mpiio_collective",
	.detect = detect_collective_writes,
};

const struct detector detector_M06 = {
	.code = "M06",
	.title = "no read of MPI-IO is non-blocking",
	.on = "MPI-IO",
	.info = true,
	.needs = NEED_MPIIO,
	.when = "there are reads of MPI-IO, and none is non-blocking",
	.why = "reading ahead could overlap with computing; X24 shows whether there is computing to overlap with",
	.test = "synthetic_mpiio",
	.detect = detect_blocking_reads,
};

const struct detector detector_M07 = {
	.code = "M07",
	.title = "no write of MPI-IO is non-blocking",
	.on = "MPI-IO",
	.info = true,
	.needs = NEED_MPIIO,
	.when = "there are writes of MPI-IO, and none is non-blocking",
	.why = "writing could overlap with computing; X24 shows whether there is computing to overlap with",
	.test = "synthetic_mpiio",
	.detect = detect_blocking_writes,
};
