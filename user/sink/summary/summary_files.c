/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Adds up operations by file, at the end, when the file of each handle is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/summary/summary_report.h"

uint64_t summary_activity(const struct summary_counts *c)
{
	return c->reads + c->writes + c->bytes_read + c->bytes_written;
}

void summary_add(struct summary_counts *to, const struct summary_counts *from)
{
	to->reads += from->reads;
	to->writes += from->writes;
	to->bytes_read += from->bytes_read;
	to->bytes_written += from->bytes_written;
	to->known_reads += from->known_reads;
	to->known_writes += from->known_writes;
	to->unknown_reads += from->unknown_reads;
	to->unknown_writes += from->unknown_writes;
	to->failed_reads += from->failed_reads;
	to->failed_writes += from->failed_writes;
	to->opens += from->opens;
	to->time_ns += from->time_ns;
	to->metadata_ns += from->metadata_ns;
}

static int summary_files_by_place(const void *a, const void *b)
{
	const struct summary_part *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->paradigm != y->paradigm)
		return x->paradigm < y->paradigm ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static int summary_files_by_time(const void *a, const void *b)
{
	const struct summary_file *x = a, *y = b;
	uint64_t ax = summary_activity(&x->counts), ay = summary_activity(&y->counts);

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	if (ax != ay)
		return ax > ay ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Merges entries with the same file, layer and process. */
static int merge_parts(struct summary_report *r)
{
	size_t kept = 0;
	int ret = 0;

	if (r->nparts)
		qsort(r->parts, r->nparts, sizeof(*r->parts), summary_files_by_place);
	for (size_t i = 0; i < r->nparts && !ret; i++) {
		struct summary_part *last = kept ? &r->parts[kept - 1] : NULL, *next = &r->parts[i];

		if (!last || summary_files_by_place(last, next)) {
			r->parts[kept++] = *next;
			continue;
		}
		summary_add(&last->counts, &next->counts);
		last->longest_ns = next->longest_ns > last->longest_ns ? next->longest_ns : last->longest_ns;
		ret = summary_classes_add(last->classes, next->classes);
	}
	r->nparts = kept;
	return ret;
}

/* The same bytes pass through every layer: a file is listed once, at the system calls, or if those were not recorded at its busiest
 * layer. */
static bool summary_files_replaces(const struct model *model, const struct summary_file *old, uint32_t paradigm,
				   const struct summary_counts *counts)
{
	bool old_os = model->paradigms.v[old->paradigm].os, new_os = model->paradigms.v[paradigm].os;

	if (!summary_activity(&old->counts) != !summary_activity(counts))
		return summary_activity(counts) > 0;
	return old_os != new_os ? new_os : summary_activity(counts) > summary_activity(&old->counts);
}

/* Makes the entry of the file whose parts begin at first. */
static struct summary_file file_at(const struct summary_report *r, size_t first)
{
	const struct summary_part *parts = r->parts;
	struct summary_file file = { .file = parts[first].file, .paradigm = parts[first].paradigm, .first = first };
	size_t i = first;

	while (i < r->nparts && parts[i].file == file.file) {
		struct summary_counts layer = { 0 };
		uint32_t paradigm = parts[i].paradigm;
		bool only = i == first;

		for (; i < r->nparts && parts[i].file == file.file && parts[i].paradigm == paradigm; i++)
			summary_add(&layer, &parts[i].counts);
		if (only || summary_files_replaces(r->model, &file, paradigm, &layer)) {
			file.paradigm = paradigm;
			file.counts = layer;
		}
		file.time_ns = layer.time_ns > file.time_ns ? layer.time_ns : file.time_ns;
	}
	file.nparts = i - first;
	return file;
}

/* Pipes and the like are not in a file system: one line for all. */
static void summary_files_add_file(struct summary_report *r, const struct summary_file *file)
{
	if (file->file == REF_NONE || !r->model->files.v[file->file].special) {
		r->files[r->nfiles++] = *file;
	} else if (summary_activity(&file->counts)) {
		summary_add(&r->special, &file->counts);
		r->nspecial++;
	}
}

int summary_files(struct summary_report *r)
{
	int ret = merge_parts(r);

	r->files = ret ? NULL : calloc(r->nparts + 1, sizeof(*r->files));
	if (!r->files)
		return -ENOMEM;
	for (size_t i = 0; i < r->nparts;) {
		const struct summary_file file = file_at(r, i);

		summary_files_add_file(r, &file);
		i += file.nparts;
	}
	if (r->nfiles)
		qsort(r->files, r->nfiles, sizeof(*r->files), summary_files_by_time);
	return 0;
}
