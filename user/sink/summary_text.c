/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary for people: a table of layers, a table of the busiest files, and what the trace does not have.
 */
#include "sink/summary_internal.h"
#include "sink/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static void print_text(FILE *out, const char *text)
{
	char *printable = utf8_printable(text);

	fputs(printable ? printable : "?", out);
	free(printable);
}

struct cell { char text[32]; };

static struct cell bytes_cell(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	struct cell cell;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	snprintf(cell.text, sizeof(cell.text), "%.*f %s", unit ? 2 : 0, value, units[unit]);
	return cell;
}

/* ---- tables ---- */

static void print_layers(FILE *out, const struct summary_report *r)
{
	fprintf(out, "%-10s %12s %10s %12s %12s %14s\n", "layer", "calls", "failed", "read", "written", "time");
	for (size_t i = 0; i < r->nlayers; i++) {
		const struct summary_layer *l = &r->layers[i];

		fprintf(out, "%-10s %12" PRIu64 " %10" PRIu64 " %12s %12s %12.6f s\n", l->name, l->calls, l->failed,
			bytes_cell(l->counts.bytes_read).text, bytes_cell(l->counts.bytes_written).text, l->time_ns / 1e9);
	}
	fputc('\n', out);
}

static void print_file(FILE *out, const struct model *m, const struct summary_file *f)
{
	const struct model_file *file = f->file != REF_NONE ? &m->files.v[f->file] : NULL;

	fprintf(out, "%12s %12s %10" PRIu64 " %10" PRIu64 "  %-8s %-8s %-10s ", bytes_cell(f->counts.bytes_read).text,
		bytes_cell(f->counts.bytes_written).text, f->counts.reads, f->counts.writes,
		m->paradigms.v[f->paradigm].identification, file ? summary_scope_name(file->scope) : "unknown",
		file && file->fs_type ? file->fs_type : "-");
	print_text(out, file ? file->path : "(file unknown)");
	if (file && file->mount_point) {
		fputs(" (on ", out);
		print_text(out, file->mount_point);
		fputc(')', out);
	}
	fputc('\n', out);
}

static void print_files(FILE *out, const struct summary_report *r)
{
	if (!r->nfiles)
		return;
	fprintf(out, "%12s %12s %10s %10s  %-8s %-8s %-10s %s\n", "read", "written", "reads", "writes", "layer", "scope", "type",
		"file (mount point)");
	for (size_t i = 0; i < r->nfiles; i++)
		print_file(out, r->model, &r->files[i]);
	if (r->files_total > r->nfiles)
		fprintf(out, "and %zu more files\n", r->files_total - r->nfiles);
	fputc('\n', out);
}

static void print_losses(FILE *out, const struct summary_report *r)
{
	const struct model_totals *t = &r->model->totals;
	const struct { const char *name; uint64_t value; } lines[] = {
		{ "records late", t->late_records },
		{ "calls abandoned", t->abandoned },
		{ "calls still open", r->open_calls },
		{ "events unmatched", r->unmatched },
		{ "sizes unknown", t->unknown_sizes },
		{ "returns without frame", t->returns_without_frame },
		{ "calls nested too deep", t->frames_too_deep },
	};

	fprintf(out, "records lost %" PRIu64 "\n", t->lost_records);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (lines[i].value)
			fprintf(out, "%s %" PRIu64 "\n", lines[i].name, lines[i].value);
	if (!r->model->complete)
		fputs("the recording is incomplete: it has no end\n", out);
	for (size_t i = 0; i < r->model->nnotes; i++) {
		fputs("note: ", out);
		print_text(out, r->model->notes[i]);
		fputc('\n', out);
	}
}

int summary_text_write(FILE *out, const struct summary_report *r)
{
	const struct model *m = r->model;

	fprintf(out, "%s: %" PRIu64 " ranks, %" PRIu64 " processes, %" PRIu64 " threads, %.6f s\n\n",
		m->host_name ? m->host_name : "unknown host", r->ranks, r->processes, r->threads,
		m->clock_end_ns > m->clock_begin_ns ? (m->clock_end_ns - m->clock_begin_ns) / 1e9 : 0.0);
	print_layers(out, r);
	print_files(out, r);
	print_losses(out, r);
	return ferror(out) ? -EIO : 0;
}
