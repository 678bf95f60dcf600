/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Compares two runs: layers, files, call sites, findings.
 */
#include "report/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/words.h"
#include "report/escape.h"
#include "report/facts.h"

#define MAX_FILES 2000
#define SHOWN_FILES 15
#define SHOWN_SITES 10

static void diff_change(FILE *out, double before, double after)
{
	if (before == after)
		fprintf(out, " %9s", "same");
	else if (before <= 0)
		fprintf(out, " %9s", "new");
	else if (after <= 0)
		fprintf(out, " %9s", "gone");
	else if (after / before < 10)
		fprintf(out, " %+8.0f%%", 100 * (after / before - 1));
	else
		fprintf(out, " %8.0fx", after / before);
}

static void run_line(FILE *out, const char *label, const struct analysis *a)
{
	char name[120], complete[640], io[24];

	escape_terminal(name, sizeof(name), a->trace->dir, 50);
	report_completeness(a, complete, sizeof(complete));
	words_seconds(io, sizeof(io), a->worst == TRACE_NONE ? 0 : a->facts->locations[a->worst].io_ns);
	fprintf(out, "%s  %s: %" PRIu64 " ranks, I/O time of the worst %s\n   %s\n", label, name, a->facts->nranks, io, complete);
}

static void diff_layers(FILE *out, const struct analysis *a, const struct analysis *b)
{
	fprintf(out, "\n%-9s %10s %10s %9s %10s %10s %9s %10s %10s %9s\n", "layer", "calls A", "calls B", "", "bytes A", "bytes B",
		"", "time A", "time B", "");
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++) {
		struct report_layer x, y;
		char bytes[2][24], time[2][24];

		if (!report_layer(a, l, &x) + !report_layer(b, l, &y) == 2)
			continue;
		words_bytes(bytes[0], sizeof(bytes[0]), x.bytes[0] + x.bytes[1]);
		words_bytes(bytes[1], sizeof(bytes[1]), y.bytes[0] + y.bytes[1]);
		words_seconds(time[0], sizeof(time[0]), x.ns);
		words_seconds(time[1], sizeof(time[1]), y.ns);
		fprintf(out, "%-9s %10" PRIu64 " %10" PRIu64, trace_layer_name(l), x.calls, y.calls);
		diff_change(out, x.calls, y.calls);
		fprintf(out, " %10s %10s", bytes[0], bytes[1]);
		diff_change(out, x.bytes[0] + x.bytes[1], y.bytes[0] + y.bytes[1]);
		fprintf(out, " %10s %10s", time[0], time[1]);
		diff_change(out, x.ns, y.ns);
		fputc('\n', out);
	}
}

/* ---- files, matched by their last component, because runs write to different directories ---- */

struct file_pair { const char *name; const struct report_file *of[2]; uint64_t distance; };

static const char *diff_last_component(const struct analysis *a, const struct report_file *f)
{
	const char *name = file_name(a, f->file), *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

static int diff_farthest(const void *a, const void *b)
{
	const struct file_pair *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance > y->distance ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t pair_files(const struct analysis *const a[2], struct report_file *const files[2], const size_t n[2],
			 struct file_pair *pairs)
{
	size_t np = 0;

	for (size_t i = 0; i < n[0]; i++)
		pairs[np++] = (struct file_pair){ diff_last_component(a[0], &files[0][i]), { &files[0][i], NULL }, files[0][i].ns };
	for (size_t i = 0; i < n[1]; i++) {
		const char *name = diff_last_component(a[1], &files[1][i]);
		size_t p = 0;

		while (p < n[0] && (pairs[p].of[1] || strcmp(pairs[p].name, name)))
			p++;
		if (p == n[0])
			p = np++, pairs[p] = (struct file_pair){ .name = name };
		pairs[p].of[1] = &files[1][i];
	}
	for (size_t i = 0; i < np; i++) {
		uint64_t x = pairs[i].of[0] ? pairs[i].of[0]->ns : 0, y = pairs[i].of[1] ? pairs[i].of[1]->ns : 0;

		pairs[i].distance = x > y ? x - y : y - x;
	}
	qsort(pairs, np, sizeof(*pairs), diff_farthest);
	return np;
}

static void file_lines(FILE *out, const struct file_pair *pairs, size_t n)
{
	fprintf(out, "\n%-40s %10s %10s %9s %10s %10s %9s\n", "data file (by name)", "bytes A", "bytes B", "", "time A", "time B",
		"");
	for (size_t i = 0; i < n && i < SHOWN_FILES; i++) {
		double bytes[2] = { 0 }, ns[2] = { 0 };
		char name[200];

		escape_terminal(name, sizeof(name), pairs[i].name, 40);
		fprintf(out, "%-40s", name);
		for (int k = 0; k < 2; k++)
			if (pairs[i].of[k]) {
				bytes[k] = pairs[i].of[k]->bytes[0] + pairs[i].of[k]->bytes[1];
				ns[k] = pairs[i].of[k]->ns;
			}
		for (int k = 0; k < 2; k++) {
			char text[24];

			words_bytes(text, sizeof(text), bytes[k]);
			fprintf(out, " %10s", pairs[i].of[k] ? text : "-");
		}
		diff_change(out, bytes[0], bytes[1]);
		for (int k = 0; k < 2; k++) {
			char text[24];

			words_seconds(text, sizeof(text), ns[k]);
			fprintf(out, " %10s", pairs[i].of[k] ? text : "-");
		}
		diff_change(out, ns[0], ns[1]);
		fputc('\n', out);
	}
	if (n > SHOWN_FILES)
		fprintf(out, "and %zu more\n", n - SHOWN_FILES);
}

static int diff_files(FILE *out, const struct analysis *const a[2])
{
	struct report_file *list[2] = { calloc(MAX_FILES, sizeof(**list)), calloc(MAX_FILES, sizeof(**list)) };
	struct file_pair *pairs = calloc(2 * MAX_FILES, sizeof(*pairs));
	size_t n[2] = { 0 };

	for (int k = 0; k < 2 && list[0] && list[1]; k++)
		n[k] = report_files(a[k], list[k], MAX_FILES);
	if (pairs && n[0] + n[1])
		file_lines(out, pairs, pair_files(a, list, n, pairs));
	free(pairs);
	free(list[0]);
	free(list[1]);
	return pairs ? 0 : -ENOMEM;
}

/* ---- call sites: the program's own calls, matched by function, source line and calling function ---- */

struct site_pair {
	char name[500];
	uint64_t n[2], ns[2];
};

static int diff_by_name(const void *a, const void *b)
{
	return strcmp(((const struct site_pair *)a)->name, ((const struct site_pair *)b)->name);
}

static uint64_t site_distance(const struct site_pair *p)
{
	return p->ns[0] > p->ns[1] ? p->ns[0] - p->ns[1] : p->ns[1] - p->ns[0];
}

static int farthest_site(const void *a, const void *b)
{
	uint64_t x = site_distance(a), y = site_distance(b);

	return x != y ? (x > y ? -1 : 1) : diff_by_name(a, b);
}

static size_t list_sites(const struct analysis *a, int which, struct site_pair *list)
{
	size_t n = 0;

	for (size_t i = 0; i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];
		struct site_pair *p = &list[n];
		char text[400];

		if (!c->outer_n || c->key.site == TRACE_NONE || c->key.region == TRACE_NONE)
			continue;
		site_text(a->trace, c->key.site, text, sizeof(text));
		if (!text[0])
			continue;
		snprintf(p->name, sizeof(p->name), "%s at %s", a->trace->regions.v[c->key.region].name, text);
		p->n[which] = c->outer_n;
		p->ns[which] = c->outer_ns;
		n++;
	}
	return n;
}

/* Rows of one name become one; returns how many are left. */
static size_t join_sites(struct site_pair *list, size_t n)
{
	size_t kept = 0;

	qsort(list, n, sizeof(*list), diff_by_name);
	for (size_t i = 0; i < n; i++) {
		if (!kept || strcmp(list[kept - 1].name, list[i].name)) {
			list[kept++] = list[i];
			continue;
		}
		for (int k = 0; k < 2; k++) {
			list[kept - 1].n[k] += list[i].n[k];
			list[kept - 1].ns[k] += list[i].ns[k];
		}
	}
	return kept;
}

static void site_lines(FILE *out, const struct site_pair *list, size_t n)
{
	fprintf(out, "\n%-52s %8s %8s %10s %10s %9s\n", "call site", "calls A", "calls B", "time A", "time B", "");
	for (size_t i = 0; i < n && i < SHOWN_SITES; i++) {
		char name[200], time[2][24];

		escape_terminal(name, sizeof(name), list[i].name, 52);
		words_seconds(time[0], sizeof(time[0]), list[i].ns[0]);
		words_seconds(time[1], sizeof(time[1]), list[i].ns[1]);
		fprintf(out, "%-52s %8" PRIu64 " %8" PRIu64 " %10s %10s", name, list[i].n[0], list[i].n[1],
			list[i].n[0] ? time[0] : "-", list[i].n[1] ? time[1] : "-");
		diff_change(out, list[i].ns[0], list[i].ns[1]);
		fputc('\n', out);
	}
	if (n > SHOWN_SITES)
		fprintf(out, "and %zu more\n", n - SHOWN_SITES);
}

static int diff_sites(FILE *out, const struct analysis *const a[2])
{
	struct site_pair *list = calloc(a[0]->facts->calls.n + a[1]->facts->calls.n + 1, sizeof(*list));
	size_t n;

	if (!list)
		return -ENOMEM;
	n = list_sites(a[0], 0, list);
	n = join_sites(list, n + list_sites(a[1], 1, list + n));
	qsort(list, n, sizeof(*list), farthest_site);
	if (n)
		site_lines(out, list, n);
	free(list);
	return 0;
}

/* ---- findings ---- */

static const struct finding *finding_of(const struct analysis *a, const char *code)
{
	for (size_t i = 0; i < a->findings.n; i++)
		if (!strcmp(a->findings.v[i]->detector->code, code) && a->findings.v[i]->severity > SEVERITY_NOTE &&
		    !a->findings.v[i]->cause)
			return a->findings.v[i];
	return NULL;
}

static void diff_findings(FILE *out, const struct analysis *a, const struct analysis *b)
{
	fprintf(out, "\nfindings (without notes and effects)\n");
	for (size_t i = 0; i < ndetectors; i++) {
		const struct finding *x = finding_of(a, detectors[i]->code), *y = finding_of(b, detectors[i]->code);
		char before[24], after[24];

		if (!x && !y)
			continue;
		words_seconds(before, sizeof(before), x ? x->cost_ns : 0);
		words_seconds(after, sizeof(after), y ? y->cost_ns : 0);
		fprintf(out, "%-5s %s %-50s cost %s -> %s\n",
			!y   ? "gone"
			: !x ? "new"
			     : "both",
			detectors[i]->code, detectors[i]->title, x ? before : "-", y ? after : "-");
	}
}

int report_write_diff(FILE *out, const struct analysis *a, const struct analysis *b)
{
	const struct analysis *const both[2] = { a, b };
	int ret;

	run_line(out, "A", a);
	run_line(out, "B", b);
	diff_layers(out, a, b);
	ret = diff_files(out, both) ?: diff_sites(out, both);
	diff_findings(out, a, b);
	return ret;
}
