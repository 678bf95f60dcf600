/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls per file and layer, and the time of each layer without that of the layers below.
 */
#include "report/view_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/words.h"
#include "report/escape.h"
#include "report/facts.h"
#include "report/json_values.h"

#define FILES_TEXT 12
#define FILES_JSON 1000
#define FILES_HTML 30
#define BARS 5 /* files per layer in the chart */
#define WIDTH 1000
#define LABEL 360

struct accesses {
	uint32_t file;
	bool data;
	uint64_t of[LAYERS], sum;
};

static int more_accesses(const void *a, const void *b)
{
	const struct accesses *x = a, *y = b;

	if (x->data != y->data)
		return x->data ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* All files with calls: data files, then the others, those with most calls first. To be freed. */
static struct accesses *list_accesses(const struct analysis *a, size_t *n)
{
	struct accesses *all = calloc(a->files.n + 1, sizeof(*all));

	*n = 0;
	for (size_t i = 0; all && i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (!*n || all[*n - 1].file != f->file) {
			all[*n].data = a->facts->file_class[f->file] == FILE_DATA;
			all[(*n)++].file = f->file;
		}
		all[*n - 1].of[f->layer] += f->sum->calls;
		all[*n - 1].sum += f->sum->calls;
	}
	if (all)
		qsort(all, *n, sizeof(*all), more_accesses);
	return all;
}

/* Exclusive times add up: each moment of a thread belongs to its innermost recorded call. */
static void exclusive_times(const struct analysis *a, uint64_t of[LAYERS])
{
	memset(of, 0, LAYERS * sizeof(*of));
	for (size_t i = 0; i < a->facts->calls.n; i++) {
		const struct call_stat *c = a->facts->calls.v[i];

		if (c->key.region < a->trace->regions.n)
			of[a->trace->regions.v[c->key.region].layer] += c->own_ns;
	}
}

static bool has_layer(const struct accesses *all, size_t n, enum trace_layer l)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].of[l])
			return true;
	return false;
}

static struct accesses sum_from(const struct accesses *all, size_t from, size_t n)
{
	struct accesses sum = { .file = TRACE_NONE };

	for (size_t i = from; i < n; i++)
		for (enum trace_layer l = 0; l < LAYERS; l++)
			sum.of[l] += all[i].of[l];
	return sum;
}

static bool view_accesses_has(const struct analysis *a)
{
	return a->files.n > 0;
}

/* ---- text ---- */

static void view_accesses_text_row(FILE *out, const struct accesses *all, size_t n, const char *name, const struct accesses *row)
{
	fprintf(out, "%-44s", name);
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		if (has_layer(all, n, l))
			fprintf(out, " %9" PRIu64, row->of[l]);
	fputc('\n', out);
}

static void view_accesses_text(FILE *out, const struct analysis *a)
{
	size_t n, shown;
	struct accesses *all = list_accesses(a, &n), rest;
	uint64_t times[LAYERS];
	char name[200], time[24];

	shown = n < FILES_TEXT ? n : FILES_TEXT;
	rest = sum_from(all, shown, n);
	fprintf(out, "%-44s", "calls on a file");
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		if (has_layer(all, n, l))
			fprintf(out, " %9s", trace_layer_name(l));
	fputc('\n', out);
	for (size_t i = 0; i < shown; i++) {
		escape_terminal(name, sizeof(name), file_name(a, all[i].file), 44);
		view_accesses_text_row(out, all, n, name, &all[i]);
	}
	snprintf(name, sizeof(name), "%zu other files", n - shown);
	if (n > shown)
		view_accesses_text_row(out, all, n, name, &rest);
	exclusive_times(a, times);
	fputs("time without that of calls inside, over all threads:", out);
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++)
		if (times[l]) {
			words_seconds(time, sizeof(time), times[l]);
			fprintf(out, " %s %s", trace_layer_name(l), time);
		}
	fputc('\n', out);
	free(all);
}

/* ---- JSON ---- */

static json_t *view_accesses_json(const struct analysis *a)
{
	size_t n;
	struct accesses *all = list_accesses(a, &n);
	json_t *files = json_array(), *times = json_object();
	uint64_t of[LAYERS];

	for (size_t i = 0; i < n && i < FILES_JSON; i++) {
		json_t *calls = json_object();

		for (enum trace_layer l = 0; l < LAYERS; l++)
			if (all[i].of[l])
				json_object_set_new(calls, trace_layer_name(l), json_integer(all[i].of[l]));
		json_array_append_new(files, json_pack("{s:o, s:s, s:o}", "path", json_text(file_name(a, all[i].file)), "class",
						       file_class_name(a->facts->file_class[all[i].file]), "calls", calls));
	}
	exclusive_times(a, of);
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++)
		if (of[l])
			json_object_set_new(times, trace_layer_name(l), json_seconds(of[l]));
	free(all);
	return json_pack("{s:o, s:I, s:o}", "files", files, "files_not_listed", (json_int_t)(n > FILES_JSON ? n - FILES_JSON : 0),
			 "exclusive_seconds", times);
}

/* ---- HTML ---- */

static void view_accesses_bar(FILE *out, const struct analysis *a, const struct accesses *f, enum trace_layer l, uint64_t most,
			      unsigned y)
{
	double width = (double)(WIDTH - LABEL - 90) * f->of[l] / most;
	char name[200];

	escape_terminal(name, sizeof(name), file_name(a, f->file), 52);
	fprintf(out, "<text x=%d y=%u text-anchor=end>", LABEL - 6, y + 11);
	escape_html(out, name);
	fprintf(out, "</text><rect class=l%u x=%d y=%u width=%.1f height=12 /><text x=%.1f y=%u>%" PRIu64 "</text>\n", l, LABEL,
		y + 1, width < 1 ? 1 : width, LABEL + width + 4, y + 11, f->of[l]);
}

/* Returns the index of the file with most calls of the layer that is not done, n if there is none. */
static size_t next_file(const struct accesses *all, size_t n, enum trace_layer l, const bool *done)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (!done[i] && all[i].of[l] && (best == n || all[i].of[l] > all[best].of[l]))
			best = i;
	return best;
}

/* The files with most calls of one layer; the scale is the layer's own. Returns the y below it. */
static unsigned chart_layer(FILE *out, const struct analysis *a, const struct accesses *all, size_t n, enum trace_layer l,
			    unsigned y)
{
	bool *done = calloc(n + 1, 1);
	uint64_t most = 0;

	fprintf(out, "<text x=0 y=%u class=head>%s</text>\n", y + 12, trace_layer_name(l));
	for (unsigned i = 0; done && i < BARS; i++) {
		size_t file = next_file(all, n, l, done);

		if (file == n)
			break;
		done[file] = true;
		most = most ? most : all[file].of[l];
		view_accesses_bar(out, a, &all[file], l, most, y);
		y += 15;
	}
	free(done);
	return y + 6;
}

static void view_accesses_chart(FILE *out, const struct analysis *a, const struct accesses *all, size_t n)
{
	unsigned y = 0, height = 0;

	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++) {
		unsigned bars = 0;

		for (size_t i = 0; i < n; i++)
			bars += bars < BARS && all[i].of[l];
		height += bars ? bars * 15 + 6 : 0;
	}
	fprintf(out, "<div class=wide><svg viewBox=\"0 0 %d %u\" width=%d role=img aria-label=\"calls per layer and file\">\n",
		WIDTH, height, WIDTH);
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		if (has_layer(all, n, l))
			y = chart_layer(out, a, all, n, l, y);
	fputs("</svg></div>\n", out);
}

static void view_accesses_html_row(FILE *out, const struct accesses *all, size_t n, const char *name, const char *class,
				   const struct accesses *row)
{
	fputs("<tr><td>", out);
	escape_html(out, name);
	fprintf(out, "<td>%s", class);
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		if (has_layer(all, n, l))
			fprintf(out, "<td class=n>%" PRIu64, row->of[l]);
	fputs("</tr>\n", out);
}

static void html_times(FILE *out, const struct analysis *a)
{
	uint64_t times[LAYERS];
	char time[24];

	exclusive_times(a, times);
	fputs("<p>Time without that of recorded calls inside, over all threads:", out);
	for (enum trace_layer l = 0, any = 0; l < LAYER_OTHER; l++)
		if (times[l]) {
			words_seconds(time, sizeof(time), times[l]);
			fprintf(out, "%s %s %s", any++ ? "," : "", trace_layer_name(l), time);
		}
	fputs("</p>\n", out);
}

static void view_accesses_html(FILE *out, const struct analysis *a)
{
	size_t n, shown;
	struct accesses *all = list_accesses(a, &n), rest;
	char name[80];

	shown = n < FILES_HTML ? n : FILES_HTML;
	rest = sum_from(all, shown, n);
	fprintf(out, "<p>The %d files with most calls of each layer; each layer has a scale of its own.</p>\n", BARS);
	view_accesses_chart(out, a, all, n);
	html_times(out, a);
	fputs("<div class=wide><table><tr><th>File<th>Class", out);
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		if (has_layer(all, n, l))
			fprintf(out, "<th class=n>%s", trace_layer_name(l));
	fputs("</tr>\n", out);
	for (size_t i = 0; i < shown; i++)
		view_accesses_html_row(out, all, n, file_name(a, all[i].file), file_class_name(a->facts->file_class[all[i].file]),
				       &all[i]);
	snprintf(name, sizeof(name), "%zu other files", n - shown);
	if (n > shown)
		view_accesses_html_row(out, all, n, name, "", &rest);
	fputs("</table></div>\n", out);
	free(all);
}

const struct report_view view_accesses = { "accesses",         "Calls per file and layer", view_accesses_has,
					   view_accesses_text, view_accesses_json,         view_accesses_html };
