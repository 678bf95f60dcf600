/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How the program uses MPI-IO, and how MPI-IO executes collective calls.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- independent operations on a shared file ---- */

static bool independent_fires(const struct analysis *a, const struct file_layer *f, int dir)
{
	const struct dir_stat *d = &f->sum->dir[dir];
	uint64_t users = 0;

	for (size_t i = 0; i < f->n; i++)
		users += f->v[i]->dir[dir].n > 0;
	return users > 1 && d->n - d->collective >= a->thresholds.independent_count &&
	       d->n - d->collective >= a->thresholds.independent_share * d->n;
}

static struct evidence detect_mpiio_independent(const struct analysis *a, const struct file_layer *f, const struct io_stat *s,
						int dir)
{
	const struct dir_stat *d = &s->dir[dir];
	uint64_t n = d->n - d->collective, bytes = d->n ? d->bytes / d->n * n : 0;
	enum call_class class = dir == DIR_READ ? CLASS_READ : CLASS_WRITE;
	struct saving saving =
		saving_larger(a,
			      &(struct removed){ LAYER_MPIIO, n, saving_part(s->meta[class].nested, n, d->n), d->independent_ns,
						 saving_part(d->gap_ns, n, d->n), saving_part(d->late_ns, n, d->n) },
			      f->file, dir, bytes);

	if (saving.known)       /* the cost of exchanging data between ranks is not in this trace */
		saving = saving_at_most(saving.high_ns,
					"large requests in this trace; the exchange between ranks is not subtracted");
	return (struct evidence){ n, bytes, d->independent_ns, d->first_ns, d->last_ns, saving };
}

static bool reads_fire(const struct analysis *a, const struct file_layer *f) { return independent_fires(a, f, DIR_READ); }
static bool writes_fire(const struct analysis *a, const struct file_layer *f) { return independent_fires(a, f, DIR_WRITE); }

static struct evidence detect_mpiio_reads(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return detect_mpiio_independent(a, f, s, DIR_READ);
}

static struct evidence detect_mpiio_writes(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	return detect_mpiio_independent(a, f, s, DIR_WRITE);
}

static void detect_independent(struct analysis *a, const struct detector *d, const struct file_rule *rule, const char *what)
{
	struct finding *f = builder_finish(detect_files(a, d, rule), "%s", "");
	char mean[24];

	if (!f)
		return;
	words_bytes(mean, sizeof(mean), f->n ? f->bytes / f->n : 0);
	snprintf(f->evidence, sizeof(f->evidence), "%llu independent %s of %s on average, by ranks that share the file",
		 (unsigned long long)f->n, what, mean);
}

static void detect_independent_reads(struct analysis *a, const struct detector *d)
{
	detect_independent(a, d, &(struct file_rule){ LAYER_MPIIO, reads_fire, detect_mpiio_reads }, "reads");
}

static void detect_independent_writes(struct analysis *a, const struct detector *d)
{
	detect_independent(a, d, &(struct file_rule){ LAYER_MPIIO, writes_fire, detect_mpiio_writes }, "writes");
}

const struct detector detector_M02 = {
	.code = "M02",
	.title = "independent reads of a shared file",
	.on = "MPI-IO",
	.needs = NEED_MPIIO | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ),
	.when = "ranks that share a file make at least independent_count independent reads of it, and these are at least "
		"independent_share of all its reads",
	.why = "the MPI library cannot join what ranks ask for one by one",
	.topic = "collective",
	.explains = "P05 P15 P11 X18",
	.test = "independent_reads",
	.detect = detect_independent_reads,
};

const struct detector detector_M03 = {
	.code = "M03",
	.title = "independent writes to a shared file",
	.on = "MPI-IO",
	.needs = NEED_MPIIO | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_WRITE),
	.when = "as M02, for writes",
	.why = "the MPI library cannot join what ranks ask for one by one, and their blocks conflict",
	.topic = "collective",
	.explains = "P06 P16 P12",
	.test = "independent_writes",
	.detect = detect_independent_writes,
};
