/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The page for a terminal: at most 60 lines of 100 columns; behind it, on request, the figures as tables.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/settings.h"
#include "analysis/words.h"
#include "report/advice.h"
#include "report/escape.h"
#include "report/facts.h"
#include "report/fold.h"
#include "report/views.h"

#define MAX_FINDINGS 5 /* as many of them as the page has room for */
#define PAGE_LINES 60
#define PAGE_COLUMNS 100
#define MAX_FILES 5
#define SETTINGS_WIDTH 78       /* of the settings of a finding */

struct page {
	FILE *out;
	const struct analysis *a;
	const struct report_options *o;
	unsigned max_findings;
};

static const char *text_paint(const struct page *p, const char *code)
{
	return p->o->color ? code : "";
}

/* ---- head ---- */

static void text_write_head(const struct page *p)
{
	const struct analysis *a = p->a;
	char name[128], wall[24], complete[640];

	escape_terminal(name, sizeof(name), a->trace->dir, 50);
	words_seconds(wall, sizeof(wall), a->facts->wall_ns);
	report_completeness(a, complete, sizeof(complete));
	fprintf(p->out, "ioprobe report  %s\n", name);
	fprintf(p->out, "trace    %s%s%s\n", report_is_complete(a) ? "" : text_paint(p, "\33[1m"), complete,
		report_is_complete(a) ? "" : text_paint(p, "\33[0m"));
	if (a->facts->nranks)
		fprintf(p->out, "run      %s recorded, %" PRIu64 " rank%s on %" PRIu64 " node%s\n", wall, a->facts->nranks,
			a->facts->nranks == 1 ? "" : "s", a->facts->nnodes, a->facts->nnodes == 1 ? "" : "s");
	else
		fprintf(p->out, "run      %s recorded, %zu process%s, no MPI ranks\n", wall, a->trace->groups.n,
			a->trace->groups.n == 1 ? "" : "es");
	if (a->trace->command) {
		escape_terminal(name, sizeof(name), a->trace->command, 90);
		fprintf(p->out, "command  %s\n", name);
	}
}

/* Of the same thread; nothing without --cpu-time. */
static void write_cpu(const struct page *p, const struct cpu_stat *s)
{
	char on_cpu[24], asleep[24], io[24], waiting[24];

	if (!p->a->facts->has_cpu || s->unknown == s->calls)
		return;
	words_seconds(on_cpu, sizeof(on_cpu), s->cpu_ns);
	words_seconds(asleep, sizeof(asleep), s->sleep_ns);
	words_seconds(io, sizeof(io), s->io_sleep_ns);
	words_seconds(waiting, sizeof(waiting), s->delay_ns);
	fprintf(p->out, "         on a CPU %s, asleep %s (for I/O %s), waiting for a CPU %s", on_cpu, asleep, io, waiting);
	if (s->unknown)
		fprintf(p->out, ", unknown in %" PRIu64 " calls", s->unknown);
	words_seconds(on_cpu, sizeof(on_cpu), s->between_cpu_ns);
	words_seconds(asleep, sizeof(asleep), s->between_sleep_ns);
	words_seconds(waiting, sizeof(waiting), s->between_delay_ns);
	fprintf(p->out, "\n         between its calls: on a CPU %s, asleep %s, waiting for a CPU %s\n", on_cpu, asleep, waiting);
}

static void write_time(const struct page *p)
{
	const struct analysis *a = p->a;
	const struct location_stat *s;
	char name[80], io[24], text[24];
	struct report_times t;
	double share;

	if (a->worst == TRACE_NONE) {
		fprintf(p->out, "I/O time none: no I/O of files is recorded\n");
		return;
	}
	s = &a->facts->locations[a->worst];
	report_times(a, a->worst, &t);
	location_name(a, a->worst, name, sizeof(name));
	words_seconds(io, sizeof(io), s->io_ns);
	share = a->worst_wall_ns ? 100.0 * s->io_ns / a->worst_wall_ns : 0;
	fprintf(p->out, "I/O time %s, %s: %.1f %% of %s", io, name, share,
		a->facts->has_wall ? "its wall time" : "the span of its recorded calls");
	words_seconds(text, sizeof(text), report_median_io(a));
	fprintf(p->out, "; median %s", text);
	if (share < 99.5)
		fprintf(p->out, "; free I/O: at most %.2fx faster", 100 / (100 - share));
	fprintf(p->out, "\n         of which");
	for (unsigned i = 0, shown = 0; i < REPORT_TIMES; i++) {
		words_seconds(text, sizeof(text), t.ns[i]);
		if (t.ns[i])
			fprintf(p->out, "%s %s %s", shown++ ? "," : "", report_time_names[i], text);
	}
	fprintf(p->out, "\n");
	write_cpu(p, &s->cpu);
}

static void text_write_layers(const struct page *p)
{
	fprintf(p->out, "\n%-9s %10s %8s %10s %10s %10s %9s\n", "layer", "calls", "failed", "read", "written", "time", "in system");
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++) {
		struct report_layer r;
		char in[24], out[24], time[24];

		if (!report_layer(p->a, l, &r))
			continue;
		words_bytes(in, sizeof(in), r.bytes[DIR_READ]);
		words_bytes(out, sizeof(out), r.bytes[DIR_WRITE]);
		words_seconds(time, sizeof(time), r.ns);
		fprintf(p->out, "%-9s %10" PRIu64 " %8" PRIu64 " %10s %10s %10s", trace_layer_name(l), r.calls, r.failed,
			l == LAYER_MPI ? "-" : in, l == LAYER_MPI ? "-" : out, time);
		if (l == p->a->facts->lowest || !r.ns)
			fprintf(p->out, " %9s", "-");
		else
			fprintf(p->out, " %7.1f %%", 100.0 * r.system_ns / r.ns);
		fprintf(p->out, "%s\n", r.unknown ? "  some sizes unknown" : "");
	}
	fprintf(p->out, "each layer by itself (their bytes are the same bytes); time: outermost calls, summed over threads\n");
}

/* ---- findings ---- */

static void write_where(const struct page *p, const struct finding *f)
{
	char name[200], ranks[120];

	fprintf(p->out, "     ");
	for (size_t i = 0; i < f->nfiles && i < 1; i++) {
		escape_terminal(name, sizeof(name), file_name(p->a, f->files[i].file), 56);
		fprintf(p->out, "%s", name);
		if (f->nfiles > 1)
			fprintf(p->out, " and %zu more", f->nfiles - 1);
		fprintf(p->out, "; ");
	}
	finding_ranks(p->a, f, ranks, sizeof(ranks));
	escape_terminal(name, sizeof(name), ranks, 30);
	fprintf(p->out, "%s%s\n", p->a->facts->nranks && ranks[0] >= '0' && ranks[0] <= '9' ? "rank " : "", name);
}

static void text_write_calls(const struct page *p, const struct finding *f)
{
	char site[400], name[200];

	for (unsigned i = 0; i < f->ncalls && i < 1; i++) {
		site_text(p->a->trace, f->calls[i].site, site, sizeof(site));
		escape_terminal(name, sizeof(name), site, 60);
		fprintf(p->out, "     in  %s%s%s, %" PRIu64 " calls\n", p->a->trace->regions.v[f->calls[i].region].name,
			site[0] ? " at " : "", name, f->calls[i].n);
	}
}

/* What the program or its libraries have set, as far as it bears on the finding: in one line. */
static void text_write_settings(const struct page *p, const struct finding *f)
{
	const struct trace_fact *list[SETTINGS_SHOWN];
	size_t n = finding_settings(p->a, f, list, SETTINGS_SHOWN), i = 0, used = 0;
	char name[100], value[60];

	for (; i < n && i < SETTINGS_SHOWN; i++) {
		escape_terminal(name, sizeof(name), list[i]->name, 45);
		escape_terminal(value, sizeof(value), list[i]->value ? list[i]->value : "?", 24);
		used += strlen(name) + strlen(value) + 5;
		if (i && used > SETTINGS_WIDTH)
			break;
		fprintf(p->out, "%s%s = %s", i ? "; " : "     set ", name, value);
	}
	if (n > i)
		fprintf(p->out, " and %zu more", n - i);
	if (n)
		fprintf(p->out, "\n");
}

/* What the first change does; the snippets are in the other formats, and on the page of --explain. */
static void text_write_advice(const struct page *p, const struct finding *f)
{
	const struct advice *list[ADVICE_MAX];
	char title[400], text[400];

	if (!advice_of_finding(p->a, f, list))
		return;
	advice_title(list[0], title, sizeof(title));
	escape_terminal(text, sizeof(text), title, sizeof(text) - 1);
	fprintf(p->out, "     do  %s (%s)\n", text, advice_interface_name(list[0]));
}

static void text_write_finding(const struct page *p, const struct finding *f, unsigned number)
{
	static const char *const labels[] = { "note", "WARN", "HIGH" }, *const colors[] = { "", "\33[33m", "\33[1;31m" };
	char cost[24], saving[80], heading[120], evidence[4 * sizeof(f->evidence)];

	if (f->detector->info) {
		fprintf(p->out, "%2u info %s (%s)\n     %s\n", number, f->detector->title, f->detector->code, f->evidence);
		return;
	}
	words_seconds(cost, sizeof(cost), f->cost_ns);
	report_saving(f, saving, sizeof(saving));
	snprintf(heading, sizeof(heading), "%s (%s)", f->detector->title, f->detector->code);
	fprintf(p->out, "%2u %s%s%s %-46s costs %s, %s\n", number, text_paint(p, colors[f->severity]), labels[f->severity],
		text_paint(p, f->severity ? "\33[0m" : ""), heading, cost, saving);
	escape_terminal(evidence, sizeof(evidence), f->evidence, sizeof(evidence) - 1);
	fprintf(p->out, "     %s\n", evidence);
	write_where(p, f);
	text_write_calls(p, f);
	text_write_settings(p, f);
	text_write_advice(p, f);
	if (f->cause)
		fprintf(p->out, "     an effect of %s\n", f->cause->detector->code);
}

static void text_write_findings(const struct page *p)
{
	unsigned shown = 0;
	size_t left = 0;

	fprintf(p->out, "\n");
	for (size_t i = 0; i < p->a->findings.n; i++) {
		const struct finding *f = p->a->findings.v[i];

		if (p->o->all || (f->severity > SEVERITY_NOTE && !f->cause && shown < p->max_findings))
			text_write_finding(p, f, ++shown);
		else
			left += !f->detector->info;
	}
	if (!shown)
		fprintf(p->out, "Nothing costs enough to be worth a change.\n");
	if (shown > 1)
		fprintf(p->out, "savings overlap: they do not add up\n");
	if (left)
		fprintf(p->out, "%zu more note%s and effects: --all\n", left, left == 1 ? "" : "s");
}

/* What needs no change, so that nobody changes it. */
static void write_fine(const struct page *p)
{
	unsigned shown = 0;

	for (size_t i = 0; i < p->a->findings.n; i++)
		if (p->a->findings.v[i]->detector->fine)
			fprintf(p->out, "%s%s", shown++ ? "; " : "fine     ", p->a->findings.v[i]->detector->title);
	if (shown)
		fprintf(p->out, "\n");
}

/* ---- tail ---- */

static void text_write_files(const struct page *p)
{
	struct report_file files[MAX_FILES];
	size_t n = report_files(p->a, files, MAX_FILES);

	if (n)
		fprintf(p->out, "\n%-52s %9s %10s %10s %10s\n", "data file", report_users_name(p->a), "read", "written", "time");
	for (size_t i = 0; i < n; i++) {
		char name[200], in[24], out[24], time[24];

		escape_terminal(name, sizeof(name), file_name(p->a, files[i].file), 52);
		words_bytes(in, sizeof(in), files[i].bytes[DIR_READ]);
		words_bytes(out, sizeof(out), files[i].bytes[DIR_WRITE]);
		words_seconds(time, sizeof(time), files[i].ns);
		fprintf(p->out, "%-52s %9" PRIu64 " %10s %10s %10s\n", name, files[i].users, in, out, time);
	}
}

/* Whether an earlier detector of the list lacks the same facts. */
static bool is_listed(const struct analysis *a, size_t i)
{
	char missing[160], other[160];

	report_missing(a, a->cannot_tell.v[i], missing, sizeof(missing));
	for (size_t k = 0; k < i; k++) {
		report_missing(a, a->cannot_tell.v[k], other, sizeof(other));
		if (!strcmp(missing, other))
			return true;
	}
	return false;
}

/* Codes that lack the same facts are listed together. */
static void write_cannot_tell(const struct page *p)
{
	const struct analysis *a = p->a;
	char missing[160], other[160];

	for (size_t i = 0; i < a->cannot_tell.n; i++) {
		if (is_listed(a, i))
			continue;
		report_missing(a, a->cannot_tell.v[i], missing, sizeof(missing));
		fprintf(p->out, "no %s in this archive, cannot tell: %s", missing, a->cannot_tell.v[i]->code);
		for (size_t k = i + 1; k < a->cannot_tell.n; k++) {
			report_missing(a, a->cannot_tell.v[k], other, sizeof(other));
			if (!strcmp(missing, other))
				fprintf(p->out, ", %s", a->cannot_tell.v[k]->code);
		}
		fputc('\n', p->out);
	}
}

static void text_write_limits(const struct page *p)
{
	const struct analysis *a = p->a;

	fprintf(p->out, "\n");
	write_cannot_tell(p);
	if (a->trace->ours && !a->trace->probe_ns[LAYER_POSIX])
		fprintf(p->out, "the archive has no calibration of the recorder's own cost: savings allow for 0.3 to 5 us a "
				"call\n");
	if (!a->facts->has_sites)
		fprintf(p->out, "no call sites in this archive\n");
	if (a->facts->merged_files)
		fprintf(p->out, "too many files: %" PRIu64 " look-ups of statistics went to \"other files\"\n",
			a->facts->merged_files);
}

/* The page with so many findings, to be freed; NULL without memory. */
static char *make_page(const struct analysis *a, const struct report_options *options, unsigned max_findings)
{
	char *text = NULL;
	size_t len;
	const struct page p = { open_memstream(&text, &len), a, options, max_findings };

	if (!p.out)
		return NULL;
	text_write_head(&p);
	write_time(&p);
	text_write_layers(&p);
	text_write_findings(&p);
	write_fine(&p);
	text_write_files(&p);
	text_write_limits(&p);
	if (fclose(p.out)) {
		free(text);
		return NULL;
	}
	return text;
}

int report_write_text(FILE *out, const struct analysis *a, const struct report_options *options)
{
	unsigned findings = MAX_FINDINGS;
	char *text = make_page(a, options, findings);

	while (text && !options->all && findings > 1 && report_fold(NULL, text, PAGE_COLUMNS) > PAGE_LINES) {
		free(text);
		text = make_page(a, options, --findings);
	}
	if (!text)
		return -ENOMEM;
	report_fold(out, text, PAGE_COLUMNS);
	free(text);
	if (options->figures)
		report_views_text(out, a);
	return 0;
}
