/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The same bytes moved more than once: by one thread, or by all ranks.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

static uint64_t extent_bytes(const struct file_layer *f, int dir)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < f->n; i++)
		bytes += extents_bytes(f->v[i]->dir[dir].extents);
	return bytes;
}

static bool again_fires(const struct analysis *a, const struct file_layer *f, int dir)
{
	const struct dir_stat *d = &f->sum->dir[dir];

	return !d->doubtful && d->again_bytes >= a->thresholds.again_bytes &&
	       d->again_bytes >= a->thresholds.again_share * extent_bytes(f, dir);
}

static struct evidence detect_repeat_again(const struct analysis *a, const struct io_stat *s, int dir)
{
	const struct dir_stat *d = &s->dir[dir];

	return (struct evidence){ d->again,
				  d->again_bytes,
				  d->again_ns,
				  d->first_ns,
				  d->last_ns,
				  saving_remove(a,
						&(struct removed){ a->facts->lowest, d->again, 0, d->again_ns,
								   saving_part(d->gap_ns, d->again, d->n), 0 },
						"time of the repeated requests") };
}

static bool read_again_fires(const struct analysis *a, const struct file_layer *f) { return again_fires(a, f, DIR_READ); }
static bool written_again_fires(const struct analysis *a, const struct file_layer *f) { return again_fires(a, f, DIR_WRITE); }

static struct evidence read_again(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	(void)f;
	return detect_repeat_again(a, s, DIR_READ);
}

static struct evidence written_again(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	(void)f;
	return detect_repeat_again(a, s, DIR_WRITE);
}

static void detect_again(struct analysis *a, const struct detector *d, const struct file_rule *rule, const char *what)
{
	struct finding *f = builder_finish(detect_files(a, d, rule), "%s", "");
	char bytes[24];

	if (!f)
		return;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	snprintf(f->evidence, sizeof(f->evidence), "%s are %s again by the thread that %s them before, in %llu requests", bytes,
		 what, what, (unsigned long long)f->n);
}

static void detect_read_again(struct analysis *a, const struct detector *d)
{
	detect_again(a, d, &(struct file_rule){ a->facts->lowest, read_again_fires, read_again }, "read");
}

static void detect_written_again(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, written_again_fires, written_again }), "%s", "");
	char bytes[24];

	if (!f)
		return;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	snprintf(f->evidence, sizeof(f->evidence), "%s are written over by the thread that wrote them before, in %llu requests",
		 bytes, (unsigned long long)f->n);
}

const struct detector detector_P09 = {
	.code = "P09",
	.title = "the same data is read again",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "one thread reads at least again_bytes of a data file again, and again_share of the extent that it has read",
	.why = "the data was in the program's memory once; a cache that is too small, or a scan from the start for each step, "
	       "fetches it again",
	.topic = "read_again",
	.explains = "P05 P15 P11",
	.test = "read_again",
	.detect = detect_read_again,
};

const struct detector detector_P10 = {
	.code = "P10",
	.title = "the same data is written again",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "as P09, for writes",
	.why = "only the last write counts; those before cost the same",
	.topic = "written_again",
	.explains = "P06 P16 P12",
	.test = "written_again",
	.detect = detect_written_again,
};

/* ---- all ranks read the same ---- */

static uint64_t union_bytes(const struct file_layer *f, uint64_t *readers)
{
	struct extents all = { 0 };
	uint64_t bytes;

	*readers = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct extents *e = f->v[i]->dir[DIR_READ].extents;

		*readers += e && e->n && !e->full;
		for (size_t x = 0; e && x < e->n; x++)
			extents_add(&all, e->v[x].begin, e->v[x].end);
	}
	bytes = extents_bytes(&all);
	extents_clear(&all);
	return bytes;
}

static bool by_all_fires(const struct analysis *a, const struct file_layer *f)
{
	uint64_t readers, extent, ranks = a->facts->nranks, least = ranks / 2 > 3 ? ranks / 2 : 3;

	if (f->n < least || f->sum->dir[DIR_READ].doubtful)
		return false;
	extent = union_bytes(f, &readers);
	return readers >= least && extent >= a->thresholds.read_by_all_bytes &&
	       f->sum->dir[DIR_READ].bytes >= readers * extent * 9 / 10 && f->sum->dir[DIR_READ].bytes >= 3 * extent;
}

static struct evidence by_all(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *d = &s->dir[DIR_READ];

	struct saving saving = saving_remove(
		a, &(struct removed){ a->facts->lowest, d->n, 0, d->ns, d->gap_ns, 0 },
		"time of these reads on a rank that would no longer read; the time of a broadcast is not subtracted");

	(void)f;
	if (a->facts->nnodes == 1)
		saving = saving_at_most(0, "none on one node: its page cache has the data for all but the first reader");
	return (struct evidence){ d->n, d->bytes, d->ns, d->first_ns, d->last_ns, saving };
}

static void detect_by_all(struct analysis *a, const struct detector *d)
{
	struct finding *f =
		builder_finish(detect_files(a, d, &(struct file_rule){ a->facts->lowest, by_all_fires, by_all }), "%s", "");
	char bytes[24];

	if (!f)
		return;
	f->saving.low_ns = 0;
	words_bytes(bytes, sizeof(bytes), f->bytes);
	snprintf(f->evidence, sizeof(f->evidence), "%u readers read the same data: %s in all", f->nlocations, bytes);
}

const struct detector detector_X18 = {
	.code = "X18", .title = "all ranks read the same data", .on = "POSIX", .needs = NEED_SYSTEM | NEED_OFFSETS | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "at least 3 readers, and half of the ranks, read the same extent of at least read_by_all_bytes of a data file; a "
		"note on one node",
	.why = "the file system serves the same bytes once for each rank; one reader and a broadcast load it once",
	.topic = "broadcast", .explains = "P05 P15", .test = "read_by_all", .detect = detect_by_all,
};
