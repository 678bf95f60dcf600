/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Time spent without moving data: locks, resizing, closing, failing, libraries, logs.
 */
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- locks ---- */

/* HDF5 and others lock once per open: these locks are not counted. */
static uint64_t locks_beyond_opens(const struct io_stat *s)
{
	uint64_t pairs = 2 * s->meta[CLASS_OPEN].n, n = s->meta[CLASS_LOCK].n;

	return n > pairs ? n - pairs : 0;
}

static bool locks_fire(const struct analysis *a, const struct file_layer *f)
{
	uint64_t n = locks_beyond_opens(f->sum), data = f->sum->dir[0].n + f->sum->dir[1].n;

	return n >= a->thresholds.lock_count && n >= a->thresholds.lock_share * data;
}

static struct evidence detect_costs_locks(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	uint64_t n = s->meta[CLASS_LOCK].n;

	(void)f;
	return (struct evidence){
		n,
		0,
		s->meta[CLASS_LOCK].ns,
		0,
		0,
		saving_remove(a, &(struct removed){ a->facts->lowest, n, 0, s->meta[CLASS_LOCK].ns, s->meta[CLASS_LOCK].gap_ns, 0 },
			      "time of the locks")
	};
}

static void detect_locks(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, locks_fire, detect_costs_locks }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu locks and unlocks of files or parts of files",
			 (unsigned long long)f->n);
}

const struct detector detector_X15 = {
	.code = "X15", .title = "locks around the operations on a file", .on = "POSIX", .needs = NEED_SYSTEM | NEED_LOCKS,
	.classes = CLASS_BIT(CLASS_LOCK) | CLASS_BIT(CLASS_WRITE) | CLASS_BIT(CLASS_READ),
	.when = "at least lock_count locks of a data file besides one pair for each open, and lock_share for each data operation",
	.why = "on a network file system each lock is a request to a server, and ranks wait for each other",
	.topic = "locks", .test = "locks", .detect = detect_locks,
};

/* ---- resizing ---- */

/* By thread: archives do not say of which file. */
static void detect_resize(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];
		uint64_t n = s->class_n[CLASS_RESIZE], ns = s->class_ns[CLASS_RESIZE];

		if (location_counts(a, i) && n >= 10 && ns >= a->thresholds.resize_share * s->io_ns)
			builder_add(
				b, TRACE_NONE, i,
				&(struct evidence){ n, 0, ns, s->first_ns, s->last_ns,
						    saving_remove(a,
								  &(struct removed){ a->facts->lowest, n - 1, 0, ns / n * (n - 1),
										     s->class_gap_ns[CLASS_RESIZE], 0 },
								  "time of all of these calls but one") });
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu calls change the size of files, or reserve space",
			 (unsigned long long)f->n);
}

const struct detector detector_X31 = {
	.code = "X31", .title = "files are resized often", .on = "POSIX", .needs = NEED_SYSTEM, .classes = CLASS_BIT(CLASS_RESIZE),
	.when = "at least 10 calls of a thread truncate or preallocate files, and take resize_share of its I/O time",
	.why = "a file system may lock the whole file and write its index for each new size",
	.topic = "resize", .test = "resize", .detect = detect_resize,
};

/* ---- failing calls on data files ---- */

static uint64_t detect_costs_failures(const struct io_stat *s)
{
	uint64_t n = 0;

	for (int c = 0; c < CLASSES; c++)
		n += s->meta[c].failed;
	return n;
}

static bool failures_fire(const struct analysis *a, const struct file_layer *f)
{
	return detect_costs_failures(f->sum) >= a->thresholds.failed_count;
}

static struct evidence detect_costs_failing(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	uint64_t n = 0, ns = 0, gap_ns = 0;

	(void)f;
	for (int c = 0; c < CLASSES; c++) {
		n += s->meta[c].failed;
		ns += s->meta[c].failed_ns;
		gap_ns += saving_part(s->meta[c].gap_ns, s->meta[c].failed, s->meta[c].n);
	}
	return (struct evidence){
		n, 0, ns,
		0, 0, saving_remove(a, &(struct removed){ a->facts->lowest, n, 0, ns, gap_ns, 0 }, "time of the failed calls")
	};
}

/* Reads or writes, not only locks that are held or calls that ask whether it is a terminal. */
static bool transfers_fail(const struct analysis *a)
{
	for (size_t i = 0; i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (f->layer == a->facts->lowest && a->facts->file_class[f->file] == FILE_DATA &&
		    f->sum->meta[CLASS_READ].failed + f->sum->meta[CLASS_WRITE].failed >= a->thresholds.failed_count)
			return true;
	}
	return false;
}

static void detect_failures(struct analysis *a, const struct detector *d)
{
	struct builder *b = detect_files(a, d, &(struct file_rule){ a->facts->lowest, failures_fire, detect_costs_failing });
	struct finding *f;

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (c->failed && c->outer_n && c->key.file < a->trace->files.n && a->facts->file_class[c->key.file] == FILE_DATA)
			builder_add_call(b, c);
	}
	f = builder_finish(b, "%s", "");
	if (f) {
		snprintf(f->evidence, sizeof(f->evidence), "%llu calls on open files fail", (unsigned long long)f->n);
		if (f->severity == SEVERITY_NOTE && transfers_fail(a))
			f->severity = SEVERITY_WARN;    /* by what it may mean, not by its cost */
	}
}

const struct detector detector_X12 = {
	.code = "X12", .title = "calls on a data file fail", .on = "POSIX", .needs = NEED_SYSTEM | NEED_ERRORS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE) | CLASS_BIT(CLASS_META) | CLASS_BIT(CLASS_LOCK),
	.when = "at least failed_count calls on an open data file return an error; a warning if so many reads or writes do",
	.why = "the program tries again, or ignores the error and loses data",
	.topic = "failures", .test = "failing", .detect = detect_failures,
};

/* ---- a close that waits ---- */

static bool close_fires(const struct analysis *a, const struct file_layer *f)
{
	const struct io_stat *s = f->sum;
	uint64_t all = s->ns;

	(void)a;
	return s->dir[DIR_WRITE].n && all && s->meta[CLASS_CLOSE].ns * 10 >= all * 3;
}

static struct evidence detect_costs_closing(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	(void)a, (void)f;
	return (struct evidence){
		s->meta[CLASS_CLOSE].n,    s->dir[DIR_WRITE].bytes,
		s->meta[CLASS_CLOSE].ns,   s->dir[DIR_WRITE].first_ns,
		s->dir[DIR_WRITE].last_ns, saving_at_most(0, "none: the data is written when the file is closed")
	};
}

static void detect_close(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, close_fires, detect_costs_closing }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu closes take a third of the time on their files: writes went to memory, the close waits for the disk "
			 "or server",
			 (unsigned long long)f->n);
}

const struct detector detector_X30 = {
	.code = "X30",
	.title = "the cost of writes appears in the close",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_CLOSE),
	.when = "closing a written data file takes 30 % of the time of all calls on it",
	.why = "this is no slow close: bandwidth of the writes alone is that of memory",
	.topic = "close",
	.test = "synthetic_close",
	.detect = detect_close,
};

/* ---- logs ---- */

static void detect_chatter(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->files.n; i++) {
		const struct file_layer *x = &a->files.v[i];
		const struct dir_stat *w = &x->sum->dir[DIR_WRITE];

		if (x->layer != a->facts->lowest || a->facts->file_class[x->file] != FILE_LOG || w->n < a->thresholds.log_count ||
		    w->bytes / w->n >= 256)
			continue;
		for (size_t j = 0; j < x->n; j++) {
			const struct dir_stat *s = &x->v[j]->dir[DIR_WRITE];

			builder_add(b, x->file, x->v[j]->key.location,
				    &(struct evidence){
					    s->n, s->bytes, s->ns, s->first_ns, s->last_ns,
					    saving_remove(a, &(struct removed){ a->facts->lowest, s->n, 0, s->ns, s->gap_ns, 0 },
							  "time of these writes; a buffer needs one in a hundred") });
		}
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu writes of less than 256 bytes on average to logs",
			 (unsigned long long)f->n);
}

const struct detector detector_X32 = {
	.code = "X32",
	.title = "logs are written line by line",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_WRITE) | CLASS_BIT(CLASS_SYNC),
	.when = "at least log_count writes of less than 256 bytes on average to files that look like logs",
	.why = "every line is a request; on a shared file system all ranks' lines meet at one server",
	.topic = "log",
	.test = "chatter",
	.detect = detect_chatter,
};

/* ---- time inside libraries ---- */

/* Ranks wait for each other inside calls on a shared file: waiting and work cannot be distinguished there. */
static bool is_shared(const struct analysis *a, uint32_t file)
{
	const struct file_layer *f = file_layer_find(a, file, LAYER_MPIIO);

	return f && f->n > 1;
}

static void detect_library(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];
		uint64_t inside = c->ns > c->system_ns + c->mpi_ns ? c->ns - c->system_ns - c->mpi_ns : 0;
		enum trace_layer layer;

		if (!c->outer_n || c->class > CLASS_WRITE || c->key.file >= a->trace->files.n ||
		    a->facts->file_class[c->key.file] != FILE_DATA || is_shared(a, c->key.file) || c->key.region == TRACE_NONE)
			continue;
		layer = a->trace->regions.v[c->key.region].layer;
		if (layer == a->facts->lowest || inside < a->thresholds.library_share * c->ns)
			continue;
		builder_add(
			b, c->key.file, c->key.location,
			&(struct evidence){
				c->n,
				c->asked[0] + c->asked[1],
				inside,
				c->first_ns,
				c->last_ns,
				{ true, 0,
				  saving_remove(a, &(struct removed){ layer, c->n, c->frames - c->n, inside, 0, 0 }, "").high_ns,
				  "time outside of system calls; conversion or packing may be needed" } });
		builder_add_call(b, c);
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	f->inferred = true;
	f->severity = SEVERITY_NOTE;
	snprintf(f->evidence, sizeof(f->evidence),
		 "%llu calls spend more than %.0f %% of their time in the library, not in system calls", (unsigned long long)f->n,
		 100 * a->thresholds.library_share);
}

const struct detector detector_X33 = {
	.code = "X33",
	.title = "the library takes the time, not the file system",
	.on = "upper layers",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "data calls on a file that ranks do not share spend library_share of their time outside of system calls and MPI. "
		"Always a note: without the CPU time of threads, working and waiting for a CPU cannot be told apart",
	.why = "compression, conversion of types, packing of pieces, or a cost for each call that larger calls pay once",
	.topic = "library",
	.test = "compressed",
	.detect = detect_library,
};

/* ---- I/O that is not in the trace ---- */

static void detect_blind(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (c->class == CLASS_MAP && c->key.file < a->trace->files.n && a->facts->file_class[c->key.file] == FILE_DATA)
			builder_add(b, c->key.file, c->key.location, &(struct evidence){ c->n, 0, c->ns, c->first_ns, c->last_ns,
				saving_at_most(0, "not judged") });
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu mappings of data files: what is read and written through memory is not in the trace",
			 (unsigned long long)f->n);
}

const struct detector detector_X35 = {
	.code = "X35",
	.title = "data files are mapped to memory",
	.on = "POSIX",
	.needs = NEED_SYSTEM,
	.classes = CLASS_BIT(CLASS_MAP),
	.when = "a data file is mapped",
	.why = "loads and stores are no calls: size, order and time of this I/O are unknown here (--mmap-faults records the "
	       "faults)",
	.topic = "mapped",
	.test = "mapped",
	.detect = detect_blind,
};
