/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Views of the facts that several detectors use, and the run of all detectors.
 */
#include "analysis/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "trace/read.h"

/* ---- files ---- */

static void sum_dir(struct dir_stat *to, const struct dir_stat *s)
{
#define ADD(field) to->field += s->field
	ADD(n); ADD(bytes); ADD(asked); ADD(unknown); ADD(ns); ADD(gap_ns); ADD(late_ns); ADD(small);
	ADD(small_bytes); ADD(small_ns); ADD(tiny); ADD(tiny_ns);
	ADD(positioned); ADD(sequential); ADD(near); ADD(random); ADD(random_ns); ADD(unaligned); ADD(again);
	ADD(again_bytes); ADD(again_ns); ADD(unaligned_memory);
	ADD(collective); ADD(non_blocking); ADD(empty); ADD(short_n); ADD(collective_ns); ADD(independent_ns);
	ADD(below_collective); ADD(below_collective_bytes); ADD(nested); ADD(nested_bytes);
	if (s->first_ns < to->first_ns)
		to->first_ns = s->first_ns;
	if (s->last_ns > to->last_ns)
		to->last_ns = s->last_ns;
	if (s->max_ns > to->max_ns)
		to->max_ns = s->max_ns;
	if (s->min_offset < to->min_offset)
		to->min_offset = s->min_offset;
	if (s->end > to->end)
		to->end = s->end;
	to->doubtful |= s->doubtful;
}

static void sum_io(struct io_stat *to, const struct io_stat *s)
{
	for (int d = 0; d < DIRS; d++)
		sum_dir(&to->dir[d], &s->dir[d]);
	for (int c = 0; c < CLASSES; c++) {
		to->meta[c].n += s->meta[c].n;
		to->meta[c].ns += s->meta[c].ns;
		to->meta[c].gap_ns += s->meta[c].gap_ns;
		to->meta[c].late_ns += s->meta[c].late_ns;
		to->meta[c].nested += s->meta[c].nested;
		to->meta[c].failed += s->meta[c].failed;
		to->meta[c].failed_ns += s->meta[c].failed_ns;
	}
	ADD(calls); ADD(ns);
	ADD(reads_in_write); ADD(reads_in_write_bytes); ADD(reads_in_write_ns);
	ADD(writes_in_create); ADD(writes_in_create_bytes); ADD(writes_in_create_ns);
	ADD(relocations); ADD(relocated_read); ADD(relocated_written); ADD(relocation_ns);
	ADD(relocation_frame_ns);
	ADD(meta_writes); ADD(meta_writes_ns); ADD(meta_reads); ADD(meta_reads_ns); ADD(syncs_after_write); ADD(collectives);
	ADD(created); ADD(filled_again);
	ADD(degraded); ADD(degraded_bytes); ADD(degraded_ns);
#undef ADD
}

static bool analysis_wanted(const struct analysis *a, const struct io_stat *s)
{
	return s->key.file != TRACE_NONE && s->key.file < a->trace->files.n;
}

static void sum_data(struct analysis *a, const struct io_stat *s)
{
	for (int d = 0; d < DIRS; d++) {
		a->data_bytes[s->key.layer][d] += s->dir[d].bytes;
		if (s->key.layer != a->facts->lowest)
			continue;
		a->data_n[d] += s->dir[d].n;
		a->small_n[d] += s->dir[d].small;
		a->small_bytes[d] += s->dir[d].small_bytes;
	}
}

/* Most files are used by one thread, whose statistics are the sum. */
static struct io_stat *sum_begin(const struct io_stat *first)
{
	struct io_stat *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	for (int d = 0; d < DIRS; d++)
		sum->dir[d].first_ns = sum->dir[d].min_offset = UINT64_MAX;
	sum_io(sum, first);
	return sum;
}

static int group_files(struct analysis *a)
{
	struct facts *facts = a->facts;
	struct file_layer *f = NULL;
	struct io_stat *sum = NULL;

	for (size_t i = 0; i < facts->io.n; i++) {
		const struct io_stat *s = facts->io.v[i];

		if (!analysis_wanted(a, s))
			continue;
		if (!f || f->file != s->key.file || f->layer != s->key.layer) {
			f = TRACE_ADD(a->files);
			if (!f)
				return -ENOMEM;
			*f = (struct file_layer){ .file = s->key.file, .layer = s->key.layer, .v = &facts->io.v[i], .sum = s };
			sum = NULL;
		}
		if (f->n == 1) {
			sum = sum_begin(f->v[0]);
			if (!sum)
				return -ENOMEM;
			f->sum = sum;
		}
		f->n++;
		if (sum)
			sum_io(sum, s);
		if (facts->file_class[s->key.file] == FILE_DATA)
			sum_data(a, s);
	}
	return 0;
}

const struct file_layer *file_layer_find(const struct analysis *a, uint32_t file, enum trace_layer layer)
{
	size_t low = 0, high = a->files.n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct file_layer *f = &a->files.v[middle];

		if (f->file < file || (f->file == file && f->layer < layer))
			low = middle + 1;
		else
			high = middle;
	}
	return low < a->files.n && a->files.v[low].file == file && a->files.v[low].layer == layer ? &a->files.v[low] : NULL;
}

const char *file_name(const struct analysis *a, uint32_t file)
{
	return file < a->trace->files.n && a->trace->files.v[file].name ? a->trace->files.v[file].name : "(no file)";
}

/* ---- locations ---- */

static const struct trace_group *analysis_group_of(const struct analysis *a, uint32_t location)
{
	uint32_t group = location < a->trace->locations.n ? a->trace->locations.v[location].group : TRACE_NONE;

	return group < a->trace->groups.n ? &a->trace->groups.v[group] : NULL;
}

int64_t location_rank(const struct analysis *a, uint32_t location)
{
	const struct trace_group *g = analysis_group_of(a, location);

	return g ? g->rank : -1;
}

bool location_counts(const struct analysis *a, uint32_t location)
{
	return !a->facts->nranks || location_rank(a, location) >= 0;
}

uint64_t location_wall_ns(const struct analysis *a, uint32_t location)
{
	const struct trace_group *g = analysis_group_of(a, location);
	uint64_t first = UINT64_MAX, last = 0;

	if (g && g->wall_ns)
		return g->wall_ns;
	for (size_t i = 0; g && i < a->trace->locations.n; i++) {
		const struct location_stat *s = &a->facts->locations[i];

		if (a->trace->locations.v[i].group != a->trace->locations.v[location].group || s->first_ns > s->last_ns)
			continue;
		first = s->first_ns < first ? s->first_ns : first;
		last = s->last_ns > last ? s->last_ns : last;
	}
	return last > first ? last - first : 0;
}

void location_name(const struct analysis *a, uint32_t location, char *name, size_t len)
{
	const struct trace_group *g = analysis_group_of(a, location);
	const char *thread = location < a->trace->locations.n ? a->trace->locations.v[location].name : NULL;
	bool main_thread = !thread || strstr(thread, "aster thread") || strstr(thread, "ain thread");

	if (!g)
		snprintf(name, len, "?");
	else if (g->rank >= 0)
		snprintf(name, len, "rank %" PRId64 "%s%s", g->rank, main_thread ? "" : "/", main_thread ? "" : thread);
	else
		snprintf(name, len, "%s%s%s", g->name ? g->name : "?", main_thread ? "" : "/", main_thread ? "" : thread);
}

static void find_worst(struct analysis *a)
{
	uint64_t most = 0;

	a->worst = TRACE_NONE;
	for (uint32_t i = 0; i < a->trace->locations.n; i++)
		if (location_counts(a, i) && a->facts->locations[i].io_ns > most) {
			most = a->facts->locations[i].io_ns;
			a->worst = i;
		}
	a->worst_wall_ns = a->worst == TRACE_NONE ? 0 : location_wall_ns(a, a->worst);
}

/* A line of the C library, where its debug information is installed: no line that a reader can change. */
static bool is_libc(const struct trace_site *s)
{
	return s && s->file && (strstr(s->file, "../sysdeps/") == s->file || !strncmp(s->file, "./", 2));
}

/* The innermost caller that is not the C library's, or the innermost one. */
static uint32_t own_context(const struct trace *t, uint32_t context)
{
	uint32_t at = context;

	for (unsigned depth = 0; depth < 64 && at < t->contexts.n; depth++, at = t->contexts.v[at].parent) {
		uint32_t site = t->contexts.v[at].site;

		if (site < t->sites.n && t->sites.v[site].line && !is_libc(&t->sites.v[site]))
			return at;
	}
	return context;
}

const struct trace_site *site_source(const struct trace *t, uint32_t site)
{
	if (site != TRACE_NONE && site & TRACE_SITE_CONTEXT)
		site = t->contexts.v[own_context(t, site & ~TRACE_SITE_CONTEXT)].site;
	return site < t->sites.n && !is_libc(&t->sites.v[site]) ? &t->sites.v[site] : NULL;
}

void site_text(const struct trace *t, uint32_t site, char *text, size_t len)
{
	const struct trace_site *s = site_source(t, site);
	const char *function = NULL;

	text[0] = 0;
	if (site != TRACE_NONE && site & TRACE_SITE_CONTEXT) {
		const struct trace_context *c = &t->contexts.v[own_context(t, site & ~TRACE_SITE_CONTEXT)];

		function = c->region < t->regions.n ? t->regions.v[c->region].name : NULL;
	}
	if (s && s->file && s->line)
		snprintf(text, len, "%s:%u%s%s", s->file, s->line, function ? " in " : "", function ? function : "");
	else if (s && s->file)
		snprintf(text, len, "%s%s%s", s->file, function ? " in " : "", function ? function : "");
	else if (function)
		snprintf(text, len, "%s", function);
}

/* ---- run ---- */

unsigned analysis_facts(const struct analysis *a)
{
	const struct facts *f = a->facts;
	unsigned have = 0;

	if (f->has_offsets || f->offsets_known > f->offsets_unknown)
		have |= NEED_OFFSETS;
	if (f->has_errors)
		have |= NEED_ERRORS;
	if (f->has_cpu)
		have |= NEED_COMPUTE;
	if (f->has_buffers)
		have |= NEED_MEMORY;
	if (f->lowest == LAYER_POSIX)
		have |= NEED_SYSTEM | NEED_LOCKS;
	if (f->nranks > 1)
		have |= NEED_RANKS;
	if (f->chunked)
		have |= NEED_CHUNKS;
	for (size_t i = 0; i < a->files.n; i++) {
		const struct trace_file *file = &a->trace->files.v[a->files.v[i].file];

		have |= a->files.v[i].layer == LAYER_MPIIO ? NEED_MPIIO : 0;
		have |= a->files.v[i].layer < LAYER_ISOC ? NEED_UPPER : 0;
		have |= trace_mount_of(file)->block_bytes || trace_mount_of(file)->stripe_bytes ? NEED_BLOCKS : 0;
		have |= trace_mount_of(file)->stripe_bytes ? NEED_STRIPES : 0;
	}
	return have;
}

/* A program without MPI-IO or ranks cannot have this problem; without offsets it cannot be determined. */
static bool is_question(unsigned missing)
{
	return !(missing & (NEED_MPIIO | NEED_RANKS | NEED_UPPER | NEED_STRIPES));
}

static void run_detectors(struct analysis *a)
{
	unsigned have = analysis_facts(a);

	for (size_t i = 0; i < ndetectors && !a->failed; i++) {
		unsigned missing = detectors[i]->needs & ~have;

		if (!missing) {
			detectors[i]->detect(a, detectors[i]);
		} else if (is_question(missing)) {
			const struct detector **slot = TRACE_ADD(a->cannot_tell);

			a->failed |= !slot;
			if (slot)
				*slot = detectors[i];
		}
	}
}

int analysis_run(struct analysis *a, struct facts *facts, char *err, size_t err_len)
{
	a->facts = facts;
	a->trace = facts->trace;
	a->failed = group_files(a) != 0;
	find_worst(a);
	for (unsigned fs = 0; fs < FS_KINDS; fs++)
		for (int d = 0; d < DIRS; d++)
			a->models[fs][d] = cost_model_fit(facts, fs, d);
	if (!a->failed)
		run_detectors(a);
	findings_rank(a);
	if (a->failed)
		snprintf(err, err_len, "%.200s: out of memory", a->trace->dir);
	return a->failed ? -ENOMEM : 0;
}

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->findings.n; i++) {
		free(a->findings.v[i]->locations);
		free(a->findings.v[i]);
	}
	free(a->findings.v);
	free(a->cannot_tell.v);
	for (size_t i = 0; i < a->files.n; i++)
		if (a->files.v[i].n > 1)
			free((void *)a->files.v[i].sum);
	free(a->files.v);
}
