/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations by file: the counts of handles, at the end, when it is known which file each of them is on.
 */
#include <errno.h>
#include <stdlib.h>

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
}

static int by_file(const void *a, const void *b)
{
	const struct summary_file *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->paradigm < y->paradigm ? -1 : x->paradigm > y->paradigm;
}

static int by_activity(const void *a, const void *b)
{
	const struct summary_file *x = a, *y = b;
	uint64_t ax = summary_activity(&x->counts), ay = summary_activity(&y->counts);

	if (ax != ay)
		return ax > ay ? -1 : 1;
	return by_file(a, b);
}

/* One entry per file and layer, sorted; returns their number. */
static size_t merge_layers(struct summary_file *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_file);
	for (size_t i = 0; i < n; i++) {
		if (kept && !by_file(&v[kept - 1], &v[i]))
			summary_add(&v[kept - 1].counts, &v[i].counts);
		else
			v[kept++] = v[i];
	}
	return kept;
}

/* The same bytes pass every layer: a file counts once, at the system calls, or where those were not seen at its busiest layer. */
static bool replaces(const struct model *model, const struct summary_file *old, const struct summary_file *new)
{
	bool old_os = model->paradigms.v[old->paradigm].os, new_os = model->paradigms.v[new->paradigm].os;

	return old_os != new_os ? new_os : summary_activity(&new->counts) > summary_activity(&old->counts);
}

static size_t choose_layer(const struct model *model, struct summary_file *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || v[kept - 1].file != v[i].file)
			v[kept++] = v[i];
		else if (replaces(model, &v[kept - 1], &v[i]))
			v[kept - 1] = v[i];
	}
	return kept;
}

/* Pipes and the like have no file system below them: one line for all. */
static size_t add_up_special(struct summary_report *r, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct summary_file *f = &r->files[i];

		if (f->file == REF_NONE || !r->model->files.v[f->file].special) {
			r->files[kept++] = *f;
			continue;
		}
		summary_add(&r->special, &f->counts);
		r->nspecial++;
	}
	return kept;
}

int summary_files(struct summary_report *r, const struct summary_counts *handles, size_t n)
{
	size_t kept = 0;

	r->files = calloc(n + 1, sizeof(*r->files));
	if (!r->files)
		return -ENOMEM;
	for (size_t i = 0; i < n && i < r->model->handles.n; i++) {
		const struct model_handle *h = &r->model->handles.v[i];

		if (summary_activity(&handles[i]))
			r->files[kept++] = (struct summary_file){ h->file < r->model->files.n ? h->file : REF_NONE, h->paradigm,
								  handles[i] };
	}
	kept = choose_layer(r->model, r->files, merge_layers(r->files, kept));
	kept = add_up_special(r, kept);
	if (kept)
		qsort(r->files, kept, sizeof(*r->files), by_activity);
	r->files_total = kept;
	r->nfiles = kept < REPORT_FILES ? kept : REPORT_FILES;
	return 0;
}
