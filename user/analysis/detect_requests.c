/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Size, order and alignment of requests to the operating system.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

#define WITHOUT_MODEL_BYTES 65536 /* if no large request shows what is possible, only requests smaller than this are reported */

/* ---- small ---- */

/* Few on each of many files. */
static bool many_on_all(const struct analysis *a, int dir)
{
	return a->small_n[dir] >= a->thresholds.small_total && a->small_n[dir] >= a->thresholds.small_share * a->data_n[dir];
}

static bool detect_requests_small_fires(const struct analysis *a, const struct file_layer *f, int dir)
{
	const struct dir_stat *d = &f->sum->dir[dir];
	const struct cost_model *m = a->facts->file_fs[f->file] < FS_KINDS ? &a->models[a->facts->file_fs[f->file]][dir] : NULL;

	bool many = d->small >= a->thresholds.small_count;
	uint64_t mean = !d->small ? 0 : many ? d->small_bytes / d->small : a->small_bytes[dir] / a->small_n[dir];

	if (!d->small || d->small < a->thresholds.small_share * d->n)
		return false;
	return (many || many_on_all(a, dir)) && ((m && m->known) || mean <= WITHOUT_MODEL_BYTES);
}

static struct evidence small_evidence(const struct analysis *a, const struct file_layer *f, const struct dir_stat *d, int dir)
{
	return (struct evidence){ d->small,
				  d->small_bytes,
				  d->small_ns,
				  d->first_ns,
				  d->last_ns,
				  saving_larger(a,
						&(struct removed){ a->facts->lowest, d->small, 0, d->small_ns,
								   saving_part(d->gap_ns, d->small, d->n), d->late_ns },
						f->file, dir, d->small_bytes) };
}

static void detect_requests_detect_small(struct analysis *a, const struct detector *d, const struct file_rule *rule, int dir)
{
	struct builder *b = detect_files(a, d, rule);
	struct finding *f = builder_finish(b, "%s", "");
	char mean[24];

	if (!f)
		return;
	words_bytes(mean, sizeof(mean), f->n ? f->bytes / f->n : 0);
	snprintf(f->evidence, sizeof(f->evidence), "%llu %s of less than 1 MiB, %s on average", (unsigned long long)f->n,
		 dir == DIR_READ ? "reads" : "writes", mean);
}

static bool small_reads_fires(const struct analysis *a, const struct file_layer *f)
{
	return detect_requests_small_fires(a, f, DIR_READ);
}

static struct evidence small_reads_evidence(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return small_evidence(a, f, &s->dir[DIR_READ], DIR_READ);
}

static void detect_requests_small_reads(struct analysis *a, const struct detector *d)
{
	const struct file_rule rule = { a->facts->lowest, small_reads_fires, small_reads_evidence };

	detect_requests_detect_small(a, d, &rule, DIR_READ);
}

static bool small_writes_fires(const struct analysis *a, const struct file_layer *f)
{
	return detect_requests_small_fires(a, f, DIR_WRITE);
}

static struct evidence small_writes_evidence(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return small_evidence(a, f, &s->dir[DIR_WRITE], DIR_WRITE);
}

static void detect_requests_small_writes(struct analysis *a, const struct detector *d)
{
	const struct file_rule rule = { a->facts->lowest, small_writes_fires, small_writes_evidence };

	detect_requests_detect_small(a, d, &rule, DIR_WRITE);
}

const struct detector detector_P05 = {
	.code = "P05", .title = "small reads", .on = "POSIX", .needs = NEED_SYSTEM, .classes = CLASS_BIT(CLASS_READ),
	.when = "at least small_count reads of less than 1 MiB on a data file (or small_total on all data files), and small_share "
		"of its reads; without a large request to compare with, "
		"only reads of 64 KiB or less on average",
	.why = "each request pays the latency of the file system; few large ones move the same bytes in less time",
	.topic = "small_reads", .test = "small_reads", .detect = detect_requests_small_reads,
};

const struct detector detector_P06 = {
	.code = "P06", .title = "small writes", .on = "POSIX", .needs = NEED_SYSTEM, .classes = CLASS_BIT(CLASS_WRITE),
	.when = "at least small_count writes of less than 1 MiB on a data file (or small_total on all data files), and small_share "
		"of its writes; without a large request to compare with, "
		"only writes of 64 KiB or less on average",
	.why = "each request pays the latency of the file system; few large ones move the same bytes in less time",
	.topic = "small_writes", .test = "small_writes", .detect = detect_requests_small_writes,
};

/* ---- random ---- */

static bool random_fires(const struct analysis *a, const struct file_layer *f, int dir)
{
	const struct dir_stat *d = &f->sum->dir[dir];

	return !d->doubtful && d->random >= a->thresholds.random_count && d->random >= a->thresholds.random_share * d->positioned;
}

static struct evidence random_evidence(const struct analysis *a, const struct file_layer *f, const struct dir_stat *d, int dir)
{
	uint64_t bytes = d->n ? d->bytes / d->n * d->random : 0;

	return (struct evidence){ d->random,
				  bytes,
				  d->random_ns,
				  d->first_ns,
				  d->last_ns,
				  saving_larger(a,
						&(struct removed){ a->facts->lowest, d->random, 0, d->random_ns,
								   saving_part(d->gap_ns, d->random, d->n),
								   saving_part(d->late_ns, d->random, d->n) },
						f->file, dir, bytes) };
}

static bool random_reads_fire(const struct analysis *a, const struct file_layer *f) { return random_fires(a, f, DIR_READ); }
static bool random_writes_fire(const struct analysis *a, const struct file_layer *f) { return random_fires(a, f, DIR_WRITE); }

static struct evidence random_reads(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return random_evidence(a, f, &s->dir[DIR_READ], DIR_READ);
}

static struct evidence random_writes(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return random_evidence(a, f, &s->dir[DIR_WRITE], DIR_WRITE);
}

static void detect_random(struct analysis *a, const struct detector *d, const struct file_rule *rule, const char *what)
{
	struct finding *f = builder_finish(detect_files(a, d, rule), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu %s go back, or jump ahead by more than 1 MiB",
			 (unsigned long long)f->n, what);
}

static void detect_random_reads(struct analysis *a, const struct detector *d)
{
	detect_random(a, d, &(struct file_rule){ a->facts->lowest, random_reads_fire, random_reads }, "reads");
}

static void detect_random_writes(struct analysis *a, const struct detector *d)
{
	detect_random(a, d, &(struct file_rule){ a->facts->lowest, random_writes_fire, random_writes }, "writes");
}

const struct detector detector_P11 = {
	.code = "P11", .title = "random reads", .on = "POSIX", .needs = NEED_SYSTEM | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_READ), .when =
	"at least random_count reads of one thread on a data file, and random_share of those with a known offset, begin before "
	"the end of the read before them or more than 1 MiB behind it",
	.why = "read-ahead does not help, and a disk or server works block by block",
	.topic = "random_reads", .explains = "P05 P15", .test = "random_reads", .detect = detect_random_reads,
};

const struct detector detector_P12 = {
	.code = "P12", .title = "random writes", .on = "POSIX", .needs = NEED_SYSTEM | NEED_OFFSETS,
	.classes = CLASS_BIT(CLASS_WRITE), .when = "as P11, for writes",
	.why = "the file system cannot join neighbouring requests, and may read blocks before it changes them",
	.topic = "random_writes", .explains = "P06 P16", .test = "random_writes", .detect = detect_random_writes,
};

/* ---- alignment ---- */

static bool unaligned_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct dir_stat *r = &f->sum->dir[DIR_READ], *w = &f->sum->dir[DIR_WRITE];

	return !r->doubtful && r->unaligned + w->unaligned >= a->thresholds.unaligned_count &&
	       r->unaligned + w->unaligned >= a->thresholds.unaligned_share * (r->n + w->n);
}

static struct evidence detect_requests_unaligned(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *r = &s->dir[DIR_READ], *w = &s->dir[DIR_WRITE];
	uint64_t n = r->unaligned + w->unaligned, all = r->n + w->n, ns = all ? (r->ns + w->ns) / all * n : 0;

	(void)a, (void)f;
	return (struct evidence){ n, all ? (r->bytes + w->bytes) / all * n : 0, ns,
		r->first_ns < w->first_ns ? r->first_ns : w->first_ns, r->last_ns > w->last_ns ? r->last_ns : w->last_ns,
				  saving_at_most(ns / 4,
						 "at most a quarter: one of the blocks that a request touches at its ends") };
}

static void detect_unaligned(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, unaligned_fires, detect_requests_unaligned }), "%s", "");

	if (!f)
		return;
	f->inferred = true;
	snprintf(f->evidence, sizeof(f->evidence), "%llu requests of at least one block begin inside a block or stripe",
		 (unsigned long long)f->n);
}

const struct detector detector_P08 = {
	.code = "P08", .title = "requests not aligned with the file system", .on = "POSIX",
	.needs = NEED_SYSTEM | NEED_OFFSETS | NEED_BLOCKS, .classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "at least unaligned_count requests of a block (stripe) or more on a data file, and unaligned_share of all, begin "
		"inside a block. Not on file systems that are local to a node, where the page cache joins neighbouring requests",
	.why = "blocks at both ends are locked, read and written once more",
	.topic = "align", .test = "synthetic_unaligned", .detect = detect_unaligned,
};
