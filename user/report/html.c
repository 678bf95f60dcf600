/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A single file for a browser: no scripts, no requests (its content security policy forbids both), printable. Names come from the
 * traced job and are escaped.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/settings.h"
#include "analysis/words.h"
#include "report/advice.h"
#include "report/escape.h"
#include "report/facts.h"
#include "report/figures.h"
#include "report/style.h"
#include "report/views.h"

#define MAX_FILES 30

static void cell_text(FILE *out, const char *text)
{
	fputs("<td>", out);
	escape_html(out, text);
	fputs("</td>", out);
}

static void cell_number(FILE *out, const char *text)
{
	fprintf(out, "<td class=n>%s</td>", text);
}

static void cell_count(FILE *out, uint64_t n)
{
	fprintf(out, "<td class=n>%" PRIu64 "</td>", n);
}

static void cell_bytes(FILE *out, uint64_t bytes)
{
	char text[24];

	words_bytes(text, sizeof(text), bytes);
	cell_number(out, text);
}

static void cell_time(FILE *out, uint64_t ns)
{
	char text[24];

	words_seconds(text, sizeof(text), ns);
	cell_number(out, text);
}

/* ---- head ---- */

static void write_run(FILE *out, const struct analysis *a)
{
	char complete[640], text[24], name[128];

	report_completeness(a, complete, sizeof(complete));
	fprintf(out, "<p class=%s>", report_is_complete(a) ? "good" : "bad");
	escape_html(out, complete);
	fputs("</p>\n<dl>", out);
	words_seconds(text, sizeof(text), a->facts->wall_ns);
	if (a->facts->nranks)
		fprintf(out, "<dt>Recorded</dt><dd>%s, %" PRIu64 " rank%s on %" PRIu64 " node%s</dd>", text, a->facts->nranks,
			a->facts->nranks == 1 ? "" : "s", a->facts->nnodes, a->facts->nnodes == 1 ? "" : "s");
	else
		fprintf(out, "<dt>Recorded</dt><dd>%s, %zu process%s, no MPI ranks</dd>", text, a->trace->groups.n,
			a->trace->groups.n == 1 ? "" : "es");
	if (a->trace->command) {
		fputs("<dt>Command</dt><dd>", out);
		escape_html(out, a->trace->command);
		fputs("</dd>", out);
	}
	if (a->worst != TRACE_NONE) {
		location_name(a, a->worst, name, sizeof(name));
		words_seconds(text, sizeof(text), a->facts->locations[a->worst].io_ns);
		fprintf(out, "<dt>I/O time</dt><dd>%s on ", text);
		escape_html(out, name);
		if (a->worst_wall_ns)
			fprintf(out, ", %.1f %% of %s", 100.0 * a->facts->locations[a->worst].io_ns / a->worst_wall_ns,
				a->facts->has_wall ? "its wall time" : "the span of its recorded calls");
		words_seconds(text, sizeof(text), report_median_io(a));
		fprintf(out, "; median %s</dd>", text);
	}
	fputs("</dl>\n", out);
}

/* ---- findings ---- */

static void write_files_of(FILE *out, const struct analysis *a, const struct finding *f)
{
	char text[24];

	if (!f->nfiles)
		return;
	fputs("<dt>Files</dt><dd>", out);
	for (size_t i = 0; i < f->nfiles && i < FINDING_FILES; i++) {
		words_seconds(text, sizeof(text), f->files[i].ns);
		fputs(i ? "<br><code>" : "<code>", out);
		escape_html(out, file_name(a, f->files[i].file));
		fprintf(out, "</code> %" PRIu64 " operations, %s over all ranks", f->files[i].n, text);
	}
	if (f->nfiles > FINDING_FILES)
		fprintf(out, "<br>and %zu more", f->nfiles - FINDING_FILES);
	fputs("</dd>", out);
}

static void write_calls_of(FILE *out, const struct analysis *a, const struct finding *f)
{
	char site[600];

	if (!f->ncalls)
		return;
	fputs("<dt>Calls</dt><dd>", out);
	for (unsigned i = 0; i < f->ncalls; i++) {
		fputs(i ? "<br><code>" : "<code>", out);
		escape_html(out, a->trace->regions.v[f->calls[i].region].name);
		site_text(a->trace, f->calls[i].site, site, sizeof(site));
		fprintf(out, "</code>%s", site[0] ? " at <code>" : "");
		escape_html(out, site);
		fprintf(out, "%s, %" PRIu64 " calls", site[0] ? "</code>" : "", f->calls[i].n);
	}
	fputs("</dd>", out);
}

static void html_write_settings(FILE *out, const struct analysis *a, const struct finding *f)
{
	const struct trace_fact *list[SETTINGS_SHOWN];
	size_t n = finding_settings(a, f, list, SETTINGS_SHOWN);

	if (!n)
		return;
	fputs("<dt>Set</dt><dd>", out);
	for (size_t i = 0; i < n && i < SETTINGS_SHOWN; i++) {
		fprintf(out, "%s<code>", i ? "<br>" : "");
		escape_html(out, list[i]->name);
		fputs(" = ", out);
		escape_html(out, list[i]->value ? list[i]->value : "?");
		fputs("</code>", out);
	}
	if (n > SETTINGS_SHOWN)
		fprintf(out, "<br>and %zu more", n - SETTINGS_SHOWN);
	fputs("</dd>", out);
}

static void html_write_advice(FILE *out, const struct analysis *a, const struct finding *f)
{
	const struct advice *list[ADVICE_MAX];
	size_t n = advice_of_finding(a, f, list);

	if (!n)
		return;
	fputs("<dt>Change</dt><dd>", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s:<pre>", advice_interface_name(list[i]));
		escape_html(out, list[i]->text);
		fputs("</pre>", out);
	}
	fputs("</dd>", out);
}

static void html_write_finding(FILE *out, const struct analysis *a, const struct finding *f, unsigned number)
{
	char cost[24], saving[80], ranks[200];

	if (f->detector->info) {
		fprintf(out, "<article class=info id=f%u><h3><span class=tag>info</span> %s <small>%s</small></h3><p>", number,
			f->detector->title, f->detector->code);
		escape_html(out, f->evidence);
		fputs("</p></article>\n", out);
		return;
	}
	words_seconds(cost, sizeof(cost), f->cost_ns);
	report_saving(f, saving, sizeof(saving));
	finding_ranks(a, f, ranks, sizeof(ranks));
	fprintf(out, "<article class=%s id=f%u><h3><span class=tag>%s</span> ", severity_name(f->severity), number,
		severity_name(f->severity));
	escape_html(out, f->detector->title);
	fprintf(out, " <small>%s</small></h3><p><b>costs %s, %s</b></p><p>", f->detector->code, cost, saving);
	escape_html(out, f->evidence);
	fputs(".</p><dl>", out);
	write_files_of(out, a, f);
	write_calls_of(out, a, f);
	html_write_settings(out, a, f);
	fprintf(out, "<dt>%s</dt><dd>", a->facts->nranks ? "Ranks" : "Processes");
	escape_html(out, ranks);
	fputs("</dd><dt>Why</dt><dd>", out);
	escape_html(out, f->detector->why);
	fputs("</dd>", out);
	html_write_advice(out, a, f);
	if (f->saving.basis) {
		fputs("<dt>Saving from</dt><dd>", out);
		escape_html(out, f->saving.basis);
		fputs("</dd>", out);
	}
	if (f->cause)
		fprintf(out, "<dt>Effect of</dt><dd>%s</dd>", f->cause->detector->code);
	fprintf(out, "<dt>Confidence</dt><dd>%s</dd></dl></article>\n", f->inferred ? "inferred" : "measured");
}

static void html_write_findings(FILE *out, const struct analysis *a, const struct report_options *o)
{
	unsigned shown = 0;
	size_t left = 0;

	fputs("<h2>Findings</h2>\n", out);
	for (size_t i = 0; i < a->findings.n; i++) {
		const struct finding *f = a->findings.v[i];

		if (!o->all && (f->severity == SEVERITY_NOTE || f->cause))
			left += !f->detector->info;
		else
			html_write_finding(out, a, f, ++shown);
	}
	if (!shown)
		fputs("<p>Nothing costs enough to be worth a change.</p>\n", out);
	if (shown > 1)
		fputs("<p>Savings overlap: they do not add up.</p>\n", out);
	if (left)
		fprintf(out, "<p>%zu more notes and effects: <code>--all</code></p>\n", left);
}

/* ---- tables ---- */

static void html_write_layers(FILE *out, const struct analysis *a)
{
	fputs("<h2>Layers</h2>\n<p>Each layer by itself: their bytes are the same bytes. Time: outermost calls, summed over "
	      "threads.</p>\n<div class=wide><table><tr><th>Layer<th>Calls<th>Failed<th>Read<th>Written<th>Time<th>In system "
	      "calls</tr>\n",
	      out);
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++) {
		struct report_layer r;

		if (!report_layer(a, l, &r))
			continue;
		fputs("<tr>", out);
		cell_text(out, trace_layer_name(l));
		cell_count(out, r.calls);
		cell_count(out, r.failed);
		cell_bytes(out, r.bytes[DIR_READ]);
		cell_bytes(out, r.bytes[DIR_WRITE]);
		cell_time(out, r.ns);
		if (l == a->facts->lowest || !r.ns)
			fputs("<td class=n>-</td>", out);
		else
			fprintf(out, "<td class=n>%.1f %%</td>", 100.0 * r.system_ns / r.ns);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
}

static void html_write_files(FILE *out, const struct analysis *a)
{
	struct report_file files[MAX_FILES];
	size_t n = report_files(a, files, MAX_FILES);

	fprintf(out,
		"<h2>Data files</h2>\n<div "
		"class=wide><table><tr><th>File<th>Layer<th>%s<th>Read<th>Written<th>Reads<th>Writes<th>Time</tr>\n",
		a->facts->nranks ? "Ranks" : "Processes");
	for (size_t i = 0; i < n; i++) {
		fputs("<tr>", out);
		cell_text(out, file_name(a, files[i].file));
		cell_text(out, trace_layer_name(files[i].layer));
		cell_count(out, files[i].users);
		cell_bytes(out, files[i].bytes[DIR_READ]);
		cell_bytes(out, files[i].bytes[DIR_WRITE]);
		cell_count(out, files[i].n[DIR_READ]);
		cell_count(out, files[i].n[DIR_WRITE]);
		cell_time(out, files[i].ns);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	if (n == MAX_FILES)
		fprintf(out, "<p>at most the %d files with most time are listed\n", MAX_FILES);
}

static void html_write_limits(FILE *out, const struct analysis *a)
{
	char missing[160];

	fputs("<h2>What this report cannot tell</h2>\n<ul>\n", out);
	for (size_t i = 0; i < a->cannot_tell.n; i++) {
		report_missing(a, a->cannot_tell.v[i], missing, sizeof(missing));
		fprintf(out, "<li>%s, ", a->cannot_tell.v[i]->code);
		escape_html(out, a->cannot_tell.v[i]->title);
		fprintf(out, ": the archive has no %s</li>\n", missing);
	}
	if (a->trace->ours && !a->trace->probe_ns[LAYER_POSIX])
		fputs("<li>The archive has no calibration of the recorder's own cost: savings allow for 0.3 to 5 &micro;s a "
		      "call.</li>\n",
		      out);
	if (!a->facts->has_sites)
		fputs("<li>No call sites in this archive.</li>\n", out);
	fputs("</ul>\n", out);
}

int report_write_html(FILE *out, const struct analysis *a, const struct report_options *options)
{
	fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>ioprobe report: ", out);
	escape_html(out, a->trace->dir);
	fprintf(out, "</title>\n<style>%s</style></head>\n<body><h1>ioprobe report <small>", report_style);
	escape_html(out, a->trace->dir);
	fputs("</small></h1>\n", out);
	write_run(out, a);
	figure_times(out, a);
	html_write_findings(out, a, options);
	figure_timeline(out, a);
	html_write_layers(out, a);
	figure_sizes(out, a);
	html_write_files(out, a);
	report_views_html(out, a);
	figure_collectives(out, a);
	html_write_limits(out, a);
	fputs("</body></html>\n", out);
	return 0;
}
