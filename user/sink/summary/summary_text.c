/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary for users: wall times, a table of layers, a table of files (summary_groups.c), and what was not recorded.
 */
#include "sink/summary/summary_report.h"
#include "util/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNMEASURED_LINES 3

void summary_print_text(FILE *out, const char *text)
{
	char *printable = utf8_printable(text);

	fputs(printable ? printable : "?", out);
	free(printable);
}

static struct summary_cell bytes_cell(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	struct summary_cell cell;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	snprintf(cell.text, sizeof(cell.text), "%.*f %s", unit ? 2 : 0, value, units[unit]);
	return cell;
}

/* Bytes moved by operations of known size, and number of operations of unknown size. The other operations failed. */
static struct summary_cell moved_cell(uint64_t operations, uint64_t bytes, uint64_t known, uint64_t unknown)
{
	struct summary_cell cell = bytes_cell(bytes);
	size_t len = strlen(cell.text);

	if (!operations && !known)
		strcpy(cell.text, "-");
	else if (unknown && !known)
		strcpy(cell.text, "unknown");
	else if (unknown)
		snprintf(cell.text + len, sizeof(cell.text) - len, " + %" PRIu64 " unknown", unknown);
	return cell;
}

struct summary_cell summary_read_cell(const struct summary_counts *c)
{
	return moved_cell(c->reads, c->bytes_read, c->known_reads, c->unknown_reads);
}

struct summary_cell summary_written_cell(const struct summary_counts *c)
{
	return moved_cell(c->writes, c->bytes_written, c->known_writes, c->unknown_writes);
}

/* The widths of two columns over all rows. */
struct widths { int read, written; };

static void summary_text_widen(struct widths *w, const struct summary_counts *c)
{
	int read = strlen(summary_read_cell(c).text), written = strlen(summary_written_cell(c).text);

	w->read = read > w->read ? read : w->read;
	w->written = written > w->written ? written : w->written;
}

static const char *summary_text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static struct summary_cell share_cell(const struct summary_layer *l)
{
	struct summary_cell cell = { "-" };

	if (l->time_ns && !l->os && !l->system_known)
		strcpy(cell.text, "unknown");
	else if (l->time_ns && !l->os)
		snprintf(cell.text, sizeof(cell.text), "%.1f %%", 100.0 * l->system_ns / l->time_ns);
	return cell;
}

/* ---- tables ---- */

/* As --layers has it: MPI-IO is mpiio. */
static void option_name(const char *layer, char *name, size_t len)
{
	size_t n = 0;

	for (; *layer && n + 1 < len; layer++)
		if (isalnum((unsigned char)*layer))
			name[n++] = tolower((unsigned char)*layer);
	name[n] = 0;
}

/* And the library whose absence saves most. System calls cost something even if they are not recorded: not proposed. The summary of
 * a merged archive has no model, so no life of its processes. */
static void print_recording_cost(FILE *out, const struct summary_report *r)
{
	const struct summary_layer *most = NULL;
	uint64_t total = 0, life = 0;
	char name[32];

	for (size_t i = 0; i < r->nlayers; i++) {
		total += r->layers[i].recording_ns;
		if (!r->layers[i].os && r->layers[i].recording_ns && (!most || r->layers[i].recording_ns > most->recording_ns))
			most = &r->layers[i];
	}
	for (size_t i = 0; r->model && i < r->model->groups.n; i++)
		life += r->processes[i].seen ? r->processes[i].end_ns - r->processes[i].begin_ns : 0;
	if (!total)
		return;
	fprintf(out, "recording these calls took about %.6f s", total / 1e9);
	if (life)
		fprintf(out, ", %.1f %% of the processes' time", 100.0 * total / life);
	if (most) {
		option_name(most->name, name, sizeof(name));
		fprintf(out, "; without %s in --layers it takes %.6f s less", name, most->recording_ns / 1e9);
	}
	fputc('\n', out);
}

/* Where calls are short most of their time may be this. */
static void print_costs(FILE *out, const struct summary_report *r)
{
	bool first = true;

	for (size_t i = 0; i < r->nlayers; i++) {
		const struct summary_layer *l = &r->layers[i];

		if (!l->recorder_known || !l->recorder_ns)
			continue;
		fprintf(out, "%s%s %.6f s", first ? "of which ioprobe about: " : ", ", l->name, l->recorder_ns / 1e9);
		first = false;
	}
	if (!first)
		fputc('\n', out);
	print_recording_cost(out, r);
}

void summary_text_layers(FILE *out, const struct summary_report *r)
{
	struct widths w = { 12, 12 };

	for (size_t i = 0; i < r->nlayers; i++)
		summary_text_widen(&w, &r->layers[i].counts);
	fprintf(out, "%-10s %12s %10s %*s %*s %14s %15s\n", "layer", "calls", "failed", w.read, "read", w.written, "written",
		"time", "in system calls");
	for (size_t i = 0; i < r->nlayers; i++) {
		const struct summary_layer *l = &r->layers[i];

		fprintf(out, "%-10s %12" PRIu64 " %10" PRIu64 " %*s %*s %12.6f s %15s\n", l->name, l->calls, l->failed, w.read,
			summary_read_cell(&l->counts).text, w.written, summary_written_cell(&l->counts).text, l->time_ns / 1e9,
			share_cell(l).text);
	}
	if (r->nlayers)
		fputs("read, written: bytes, each layer by itself; unknown: operations; time: inclusive, outermost calls, summed "
		      "over threads, and how much of it in recorded system calls\n",
		      out);
	print_costs(out, r);
	fputc('\n', out);
}

static void print_special(FILE *out, const struct summary_report *r)
{
	if (r->nspecial)
		fprintf(out, "pipes, sockets and the like: %zu, read %s, written %s\n", r->nspecial,
			summary_read_cell(&r->special).text, summary_written_cell(&r->special).text);
}

static int summary_text_print_files(FILE *out, const struct summary_report *r)
{
	int error = summary_text_files(out, r);

	print_special(out, r);
	if (r->nfiles || r->nspecial)
		fputc('\n', out);
	return error;
}

/* ---- what was not recorded ---- */

static void print_unknown_sizes(FILE *out, const struct summary_report *r)
{
	uint64_t total = 0;
	bool first = true;

	for (size_t i = 0; i < r->nlayers; i++)
		total += r->layers[i].counts.unknown_reads + r->layers[i].counts.unknown_writes;
	if (!total)
		return;
	fprintf(out, "operations of unknown size %" PRIu64 " (", total);
	for (size_t i = 0; i < r->nlayers; i++) {
		const struct summary_layer *l = &r->layers[i];
		uint64_t unknown = l->counts.unknown_reads + l->counts.unknown_writes;

		if (!unknown)
			continue;
		fprintf(out, "%s%s %" PRIu64, first ? "" : ", ", l->name, unknown);
		first = false;
	}
	fputs(")\n", out);
}

/* Layers that were not selected at all, in one line. */
static void print_unwanted_layers(FILE *out, const struct model *m)
{
	const char *filter = NULL;

	for (size_t i = 0; i < m->excluded.n; i++) {
		const struct model_excluded *l = &m->excluded.v[i];

		if (!l->whole)
			continue;
		if (filter)
			fputs(", ", out);
		else
			summary_print_text(out, "not recorded: ");
		summary_print_text(out, l->layer);
		filter = l->filter;
	}
	if (!filter)
		return;
	fputs(" (", out);
	summary_print_text(out, filter);
	fputs(")\n", out);
}

static bool left_something_out(const struct model *m, const struct model_excluded *filter)
{
	for (size_t i = 0; i < m->excluded.n; i++)
		if (m->excluded.v[i].layer && !strcmp(m->excluded.v[i].filter, filter->filter))
			return true;
	return false;
}

static void print_excluded(FILE *out, const struct model *m)
{
	print_unwanted_layers(out, m);
	for (size_t i = 0; i < m->excluded.n; i++) {
		const struct model_excluded *l = &m->excluded.v[i];

		if (l->whole || (!l->layer && left_something_out(m, l)))
			continue;
		fputs("excluded by ", out);
		summary_print_text(out, l->filter);
		if (!l->layer) {
			fputs(": nothing\n", out);
			continue;
		}
		fprintf(out, ": %s %" PRIu64 " call%s, read %s, written %s, %.6f s", l->layer, l->calls,
			summary_text_plural(l->calls), bytes_cell(l->read_bytes).text, bytes_cell(l->written_bytes).text,
			l->time_ns / 1e9);
		if (l->unknown)
			fprintf(out, ", %" PRIu64 " of unknown size", l->unknown);
		fputc('\n', out);
	}
}

static int by_faults(const void *a, const void *b)
{
	const struct model_file *x = *(const struct model_file *const *)a, *y = *(const struct model_file *const *)b;
	uint64_t fx = x->write_faults + x->read_faults, fy = y->write_faults + y->read_faults;

	return fx != fy ? (fx > fy ? -1 : 1) : strcmp(x->path, y->path);
}

/* With --mmap-faults. */
static void print_mapped(FILE *out, const struct model *m)
{
	const struct model_file **files = calloc(m->files.n + 1, sizeof(*files));
	size_t n = 0;

	for (size_t i = 0; i < m->files.n && files; i++)
		if (m->files.v[i].mapped)
			files[n++] = &m->files.v[i];
	if (n) {
		qsort(files, n, sizeof(*files), by_faults);
		fputs("read faults write faults written back  mapped file\n", out);
	}
	for (size_t i = 0; i < n && i < REPORT_LINES; i++) {
		fprintf(out, "%11" PRIu64 " %12" PRIu64 " %12" PRIu64 "  ", files[i]->read_faults, files[i]->write_faults,
			files[i]->pages_written_back);
		summary_print_text(out, files[i]->path);
		fputc('\n', out);
	}
	if (n > REPORT_LINES)
		fprintf(out, "and %zu more mapped file%s\n", n - REPORT_LINES, summary_text_plural(n - REPORT_LINES));
	if (n)
		fputc('\n', out);
	free(files);
}

/* Without --mmap-faults. Libraries of MPI share memory in files of /dev/shm: these are in the JSON only. */
static bool is_written_unmeasured(const struct model_file *f)
{
	return f->writable_bytes && !f->mapped && !f->special && strncmp(f->path, "/dev/shm/", 9);
}

static void print_written_unmeasured(FILE *out, const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->files.n; i++) {
		if (!is_written_unmeasured(&m->files.v[i]))
			continue;
		if (n++ < UNMEASURED_LINES) {
			fputs("written through a mapping, not measured (see --mmap-faults): ", out);
			summary_print_text(out, m->files.v[i].path);
			fputc('\n', out);
		}
	}
	if (n > UNMEASURED_LINES)
		fprintf(out, "and %zu more files written through a mapping\n", n - UNMEASURED_LINES);
	if (n)
		fputc('\n', out);
}

static void print_device(FILE *out, const struct summary_report *r)
{
	const struct model_totals *t = &r->model->totals;
	struct summary_cell bytes = bytes_cell(r->model->totals.device_bytes);

	if (!r->model->device && !t->device_calls)
		return;
	fprintf(out, "%" PRIu64 " of %" PRIu64 " system calls were not served from memory: they read %s from block devices, "
		"and slept %.6f s for I/O\n\n", t->device_calls, t->system_calls, bytes.text, t->device_wait_ns / 1e9);
}

/* Prints only an end caused by a limit: the other reasons are obvious to the user. */
static void print_end(FILE *out, const struct model_end *end)
{
	static const char *const early[] = { "max-size", "min-free", "max-rate", "duration", "fault" };

	for (size_t i = 0; i < sizeof(early) / sizeof(*early) && end->stopped_by; i++) {
		if (strcmp(early[i], end->stopped_by))
			continue;
		fprintf(out, "stopped by %s: %s\n", end->stopped_by, end->reason ? end->reason : "unknown reason");
		break;
	}
	if (end->after_bound)
		fprintf(out, "records after the bound, not recorded %" PRIu64 "\n", end->after_bound);
}

static void summary_text_print_losses(FILE *out, const struct summary_report *r)
{
	const struct model_totals *t = &r->model->totals;
	const struct { const char *name; uint64_t value; } lines[] = {
		{ "records late", t->late_records },
		{ "calls abandoned", t->abandoned },
		{ "calls still open", r->open_calls },
		{ "non-blocking operations without an observed end", r->open_operations },
		{ "events unmatched", r->unmatched },
		{ "returns without frame", t->returns_without_frame },
		{ "calls nested too deep", t->frames_too_deep },
	};

	fprintf(out, "records lost %s%" PRIu64 "\n", r->model->complete ? "" : "at least ", t->lost_records);
	if (!r->model->complete)
		fprintf(out, "the recording is incomplete: it has no end; %s\n", r->model->losses_counted ?
			"what was lost in its last second is not known" : "how much is missing is not known");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (lines[i].value)
			fprintf(out, "%s %" PRIu64 "\n", lines[i].name, lines[i].value);
	print_unknown_sizes(out, r);
	print_excluded(out, r->model);
	print_end(out, &r->model->end);
	for (size_t i = 0; i < r->model->ndigest; i++) {
		fputs("note: ", out);
		summary_print_text(out, r->model->digest[i]);
		fputc('\n', out);
	}
}

/* Returns the share of its wall time that a process spent in I/O calls: that of its thread with the largest one. */
static double share_of_io(const struct summary_process *p)
{
	return p->end_ns > p->begin_ns ? 100.0 * p->io_ns / (p->end_ns - p->begin_ns) : 0;
}

/* For the ranks, or without ranks for all processes: range of wall time and of the share of I/O. */
static void print_wall_times(FILE *out, const struct summary_report *r)
{
	const struct summary_process *least = NULL, *most = NULL;
	uint64_t shortest = UINT64_MAX, longest = 0;

	for (size_t i = 0; i < r->model->groups.n; i++) {
		const struct summary_process *p = &r->processes[i];
		uint64_t wall_ns = p->end_ns - p->begin_ns;

		if (!p->seen || (r->ranks && r->model->groups.v[i].rank < 0))
			continue;
		shortest = wall_ns < shortest ? wall_ns : shortest;
		longest = wall_ns > longest ? wall_ns : longest;
		least = !least || share_of_io(p) < share_of_io(least) ? p : least;
		most = !most || share_of_io(p) > share_of_io(most) ? p : most;
	}
	if (!most)
		return;
	if (least == most) {
		fprintf(out, "%s: %.6f s, in I/O calls %.1f %%\n\n", r->ranks ? "rank" : "process", longest / 1e9,
			share_of_io(most));
		return;
	}
	fprintf(out, "%s: %.6f to %.6f s each, in I/O calls %.1f %% (", r->ranks ? "ranks" : "processes", shortest / 1e9,
		longest / 1e9, share_of_io(least));
	summary_print_text(out, r->model->groups.v[least - r->processes].name);
	fprintf(out, ") to %.1f %% (", share_of_io(most));
	summary_print_text(out, r->model->groups.v[most - r->processes].name);
	fputs(")\n\n", out);
}

static void print_head(FILE *out, const struct summary_report *r)
{
	const struct model *m = r->model;

	fprintf(out, "%s: %" PRIu64 " rank%s", m->host_name ? m->host_name : "unknown host", r->ranks,
		summary_text_plural(r->ranks));
	if (m->njobs > 1)
		fprintf(out, " in %zu jobs", m->njobs);
	fprintf(out, ", %" PRIu64 " process%s, %" PRIu64 " thread%s, %.6f s\n", r->nprocesses, r->nprocesses == 1 ? "" : "es",
		r->threads, summary_text_plural(r->threads),
		m->clock_end_ns > m->clock_begin_ns ? (m->clock_end_ns - m->clock_begin_ns) / 1e9 : 0.0);
}

int summary_text_write(FILE *out, const struct summary_report *r)
{
	int error;

	print_head(out, r);
	print_wall_times(out, r);
	summary_text_layers(out, r);
	summary_cpu_text(out, r);
	error = summary_text_print_files(out, r);
	summary_names_text(out, r->names);
	print_mapped(out, r->model);
	print_written_unmeasured(out, r->model);
	print_device(out, r);
	summary_sites_text(out, r->sites, r->model);
	summary_text_print_losses(out, r);
	return error ? error : ferror(out) ? -EIO : 0;
}
