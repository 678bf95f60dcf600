/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files that several ranks read or write: small requests, unequal shares, stripes with several writers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

static uint64_t detect_shared_ranks_of(const struct analysis *a, const struct file_layer *f, int dir)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->v[i]->dir[dir].n && location_rank(a, f->v[i]->key.location) >= 0;
	return n;
}

/* ---- small requests on a shared file ---- */

static bool detect_shared_small_fires(const struct analysis *a, const struct file_layer *f, int dir)
{
	const struct dir_stat *d = &f->sum->dir[dir];

	return d->small >= a->thresholds.small_count && d->small >= a->thresholds.small_share * d->n &&
	       detect_shared_ranks_of(a, f, dir) > 1;
}

static struct evidence detect_shared_small(const struct analysis *a, const struct file_layer *f, const struct io_stat *s, int dir)
{
	const struct dir_stat *d = &s->dir[dir];

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

static bool reads_fire(const struct analysis *a, const struct file_layer *f) { return detect_shared_small_fires(a, f, DIR_READ); }
static bool writes_fire(const struct analysis *a, const struct file_layer *f) { return detect_shared_small_fires(a, f, DIR_WRITE); }

static struct evidence detect_shared_reads(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return detect_shared_small(a, f, s, DIR_READ);
}

static struct evidence detect_shared_writes(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return detect_shared_small(a, f, s, DIR_WRITE);
}

static void detect_shared_detect_small(struct analysis *a, const struct detector *d, const struct file_rule *rule, const char *what)
{
	struct finding *f = builder_finish(detect_files(a, d, rule), "%s", "");
	char mean[24];

	if (!f)
		return;
	words_bytes(mean, sizeof(mean), f->n ? f->bytes / f->n : 0);
	snprintf(f->evidence, sizeof(f->evidence), "%llu %s of less than 1 MiB by ranks that share the file, %s on average",
		 (unsigned long long)f->n, what, mean);
}

static void detect_small_reads(struct analysis *a, const struct detector *d)
{
	detect_shared_detect_small(a, d, &(struct file_rule){ a->facts->lowest, reads_fire, detect_shared_reads }, "reads");
}

static void detect_small_writes(struct analysis *a, const struct detector *d)
{
	detect_shared_detect_small(a, d, &(struct file_rule){ a->facts->lowest, writes_fire, detect_shared_writes }, "writes");
}

const struct detector detector_P15 = {
	.code = "P15",
	.title = "small reads of a shared file",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "at least small_count reads of less than 1 MiB, and small_share of all, on a data file that several ranks read",
	.why = "each rank's small requests go to the same servers; joined, they would be few and large",
	.topic = "collective",
	.explains = "P05",
	.test = "synthetic_shared_small",
	.detect = detect_small_reads,
};

const struct detector detector_P16 = {
	.code = "P16",
	.title = "small writes to a shared file",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "as P15, for writes",
	.why = "ranks wait for each other's locks on the same blocks; joined, the writes would be few and large",
	.topic = "collective",
	.explains = "P06",
	.test = "synthetic_shared_small",
	.detect = detect_small_writes,
};

/* ---- slowest against fastest ---- */

/* Calls below collective ones are made by few ranks on purpose: not judged. */
static bool by_own_calls(const struct file_layer *f)
{
	return !f->sum->dir[0].below_collective && !f->sum->dir[1].below_collective;
}

static void detect_stragglers(struct analysis *a, const struct detector *d, bool by_time)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->files.n; i++) {
		const struct file_layer *x = &a->files.v[i];
		uint64_t least = UINT64_MAX, most = 0, sum = 0, sum_ns = 0, ranks = 0;
		const struct io_stat *slowest = NULL;

		if (x->layer != a->facts->lowest || a->facts->file_class[x->file] != FILE_DATA || !by_own_calls(x))
			continue;
		for (size_t j = 0; j < x->n; j++) {
			const struct dir_stat *r = &x->v[j]->dir[0], *w = &x->v[j]->dir[1];
			uint64_t value = by_time ? r->ns + w->ns : r->bytes + w->bytes;

			if (!(r->n + w->n) || location_rank(a, x->v[j]->key.location) < 0)
				continue;
			ranks++;
			sum += value;
			sum_ns += r->ns + w->ns;
			least = value < least ? value : least;
			slowest = value > most ? x->v[j] : slowest;
			most = value > most ? value : most;
		}
		if (ranks < 2 || !slowest || most - least <= a->thresholds.straggler_share * sum ||
		    slowest->dir[0].bytes + slowest->dir[1].bytes < a->thresholds.imbalance_bytes)
			continue;
		uint64_t n = slowest->dir[0].n + slowest->dir[1].n, ns = slowest->dir[0].ns + slowest->dir[1].ns,
			 mean = sum_ns / ranks;

		builder_add(b, x->file, slowest->key.location,
			    &(struct evidence){ n, slowest->dir[0].bytes + slowest->dir[1].bytes, ns, 0, 0,
						saving_at_most(ns > mean ? ns - mean : 0,
							       "largest against mean time, if the file system is not the limit") });
	}
	f = builder_finish(
		b, "on %s shared file the rank with most and the one with least differ by more than %.0f %% of the sum in %s", "a",
		100 * a->thresholds.straggler_share, by_time ? "time" : "bytes");
	if (f)
		f->inferred = true;
	if (f && by_time)
		f->severity = SEVERITY_NOTE;    /* other work of the machine looks the same; X25 compares equal work */
}

static void detect_unequal_bytes(struct analysis *a, const struct detector *d) { detect_stragglers(a, d, false); }
static void detect_unequal_time(struct analysis *a, const struct detector *d) { detect_stragglers(a, d, true); }

const struct detector detector_P18 = {
	.code = "P18",
	.title = "ranks move unequal amounts of a shared file",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "on a data file of several ranks, not below collective calls, the bytes of the rank with most and with least "
		"differ by straggler_share of the sum",
	.why = "the others wait for the one with most",
	.topic = "balance",
	.explains = "P19",
	.test = "synthetic_stragglers",
	.detect = detect_unequal_bytes,
};

const struct detector detector_P19 = {
	.code = "P19",
	.title = "ranks take unequal time for a shared file",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "as P18, for the time. Always a note: X25 compares ranks with equal work",
	.why = "the others wait for the slowest",
	.topic = "balance",
	.test = "synthetic_stragglers",
	.detect = detect_unequal_time,
};

/* ---- stripes with several writers ---- */

/* Locks on stripes or blocks are requests to a server there. */
static bool locks_blocks(const struct trace_file *f)
{
	static const char *const types[] = { "lustre", "gpfs", "nfs", "nfs4", "beegfs", "pvfs2", "orangefs", "ceph" };

	for (size_t i = 0; trace_mount_of(f)->fs_type && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(trace_mount_of(f)->fs_type, types[i]))
			return true;
	return false;
}

/* Blocks that more than one rank writes to, and all that are written. A block is counted once for each rank that begins or ends in
 * it. */
static void count_blocks(const struct file_layer *f, uint64_t block, uint64_t *shared, uint64_t *all)
{
	struct extents blocks = { 0 };

	*shared = *all = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct extents *e = f->v[i]->dir[DIR_WRITE].extents;
		uint64_t last = UINT64_MAX;

		for (size_t x = 0; e && x < e->n; x++) {
			uint64_t begin = e->v[x].begin / block, end = (e->v[x].end - 1) / block + 1;

			begin += begin == last;         /* the extent before ended in it */
			if (begin < end)
				*shared += extents_add(&blocks, begin, end);
			last = end - 1;
		}
	}
	*all = extents_bytes(&blocks);
	extents_clear(&blocks);
}

static uint64_t block_of(const struct analysis *a, const struct file_layer *f)
{
	const struct trace_mount *mount = trace_mount_of(&a->trace->files.v[f->file]);

	return mount->stripe_bytes ? mount->stripe_bytes : mount->block_bytes ? mount->block_bytes : SMALL_BYTES;
}

static bool conflict_fires(const struct analysis *a, const struct file_layer *f)
{
	uint64_t shared, all;

	if (f->n < 2 || f->sum->dir[DIR_WRITE].doubtful || f->sum->dir[DIR_WRITE].n < a->thresholds.conflict_count ||
	    !locks_blocks(&a->trace->files.v[f->file]))
		return false;
	count_blocks(f, block_of(a, f), &shared, &all);
	return all && shared >= a->thresholds.conflict_share * all;
}

static struct evidence detect_shared_conflict(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *w = &s->dir[DIR_WRITE];

	(void)a, (void)f;
	return (struct evidence){ w->n,        w->bytes,   w->ns,
				  w->first_ns, w->last_ns, saving_at_most(w->ns / 2, "at most half of the time of these writes") };
}

static void detect_conflict(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, conflict_fires, detect_shared_conflict }), "%s", "");
	uint64_t shared, all, block;
	char size[24];

	if (!f)
		return;
	block = block_of(a, file_layer_find(a, f->files[0].file, a->facts->lowest));
	count_blocks(file_layer_find(a, f->files[0].file, a->facts->lowest), block, &shared, &all);
	words_bytes(size, sizeof(size), block);
	f->inferred = true;
	snprintf(f->evidence, sizeof(f->evidence),
		 "%llu blocks of %s are written, further ranks come %llu times to a block of another", (unsigned long long)all,
		 size, (unsigned long long)shared);
}

const struct detector detector_X17 = {
	.code = "X17",
	.title = "ranks write to the same stripes or blocks",
	.on = "POSIX",
	.needs = NEED_SYSTEM | NEED_OFFSETS | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "on a file system that locks stripes or blocks (Lustre, GPFS, NFS, BeeGFS, Ceph) ranks make at least "
		"conflict_count writes to a data file, and conflict_share of its blocks have a further writer. The order in time "
		"is not looked at",
	.why = "each change of the writer takes a lock away from another node and flushes what that has written",
	.topic = "align",
	.explains = "P08 P16 P06",
	.test = "synthetic_conflict",
	.detect = detect_conflict,
};
