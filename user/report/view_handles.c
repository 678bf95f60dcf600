/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The handles of one thread over time: files, and below each the handles of the layers, a handle of a library above those that it
 * uses.
 */
#include "report/view_list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/detail.h"
#include "analysis/words.h"
#include "report/escape.h"
#include "report/json_values.h"

#define ROWS 24 /* of text and HTML */
#define WIDTH 1000
#define LABEL 300
#define LANE 4 /* height of one kind of call in a row */
#define ROW (DETAIL_KINDS * LANE + 4)

/* Rows in the order of the output: trees by their time, children below their parents. */
struct tree {
	const struct detail *d;
	uint32_t *order;
	unsigned *depth;
	size_t n;
};

static uint32_t root_of(const struct detail *d, uint32_t row)
{
	while (d->rows.v[row]->key.parent != TRACE_NONE) /* parents have smaller indexes */
		row = d->rows.v[row]->key.parent;
	return row;
}

static void add_subtree(struct tree *t, uint32_t row, unsigned depth)
{
	t->order[t->n] = row;
	t->depth[t->n++] = depth;
	for (uint32_t i = row + 1; i < t->d->rows.n; i++)
		if (t->d->rows.v[i]->key.parent == row)
			add_subtree(t, i, depth + 1);
}

struct root {
	uint32_t row;
	uint64_t ns;
};

static int view_handles_more_time(const void *a, const void *b)
{
	const struct root *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* A tree has the time of its row with most time: calls on a child are usually made inside calls on its parent. */
static void order_trees(struct tree *t)
{
	struct root *roots = calloc(t->d->rows.n + 1, sizeof(*roots));
	size_t n = 0;

	for (uint32_t i = 0; roots && i < t->d->rows.n; i++)
		roots[i].row = i;
	for (uint32_t i = 0; roots && i < t->d->rows.n; i++) {
		struct root *root = &roots[root_of(t->d, i)];

		root->ns = t->d->rows.v[i]->ns > root->ns ? t->d->rows.v[i]->ns : root->ns;
	}
	for (uint32_t i = 0; roots && i < t->d->rows.n; i++)
		if (t->d->rows.v[i]->key.parent == TRACE_NONE)
			roots[n++] = roots[i];
	if (roots)
		qsort(roots, n, sizeof(*roots), view_handles_more_time);
	for (size_t i = 0; i < n; i++)
		add_subtree(t, roots[i].row, 0);
	free(roots);
}

static void tree_init(struct tree *t, const struct analysis *a)
{
	*t = (struct tree){ .d = a->detail };
	t->order = calloc(t->d->rows.n + 1, sizeof(*t->order));
	t->depth = calloc(t->d->rows.n + 1, sizeof(*t->depth));
	if (t->order && t->depth)
		order_trees(t);
}

static void tree_deinit(struct tree *t)
{
	free(t->order);
	free(t->depth);
}

static bool view_handles_has(const struct analysis *a)
{
	return a->detail && a->detail->rows.n;
}

/* The file is named where it differs from the parent's. */
static bool view_handles_names_file(const struct detail *d, const struct detail_row *row)
{
	return row->key.parent == TRACE_NONE || d->rows.v[row->key.parent]->key.file != row->key.file;
}

/* ---- text ---- */

static void text_head(FILE *out, const struct analysis *a)
{
	char name[128];

	location_name(a, a->detail->location, name, sizeof(name));
	fprintf(out, "of %s; a handle of a library stands above those that it uses\n%-44s", name, "file and layer");
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		fprintf(out, " %6s", detail_kind_names[k]);
	fprintf(out, " %9s\n", "time");
}

static void view_handles_text_row(FILE *out, const struct analysis *a, const struct detail_row *row, unsigned depth)
{
	char label[200], time[24];
	int indent = 2 * depth;

	if (view_handles_names_file(a->detail, row)) {
		escape_terminal(label, sizeof(label), file_name(a, row->key.file), 100 - indent);
		fprintf(out, "%*s%s\n", indent, "", label);
	}
	words_seconds(time, sizeof(time), row->ns);
	fprintf(out, "%*s%-*s", indent + 2, "", 42 - indent, trace_layer_name(row->key.layer));
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		fprintf(out, " %6" PRIu64, row->n[k]);
	fprintf(out, " %9s\n", time);
}

static void view_handles_text(FILE *out, const struct analysis *a)
{
	struct tree t;

	tree_init(&t, a);
	text_head(out, a);
	for (size_t i = 0; i < t.n && i < ROWS; i++)
		view_handles_text_row(out, a, t.d->rows.v[t.order[i]], t.depth[i]);
	if (t.n > ROWS)
		fprintf(out, "and %zu more\n", t.n - ROWS);
	if (t.d->dropped_rows)
		fprintf(out, "%" PRIu64 " calls are on further files\n", t.d->dropped_rows);
	tree_deinit(&t);
}

/* ---- JSON ---- */

static json_t *row_object(const struct analysis *a, const struct detail_row *row, unsigned depth)
{
	json_t *calls = json_object();

	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		json_object_set_new(calls, detail_kind_names[k], json_integer(row->n[k]));
	return json_pack("{s:o, s:s, s:i, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "path", json_text(file_name(a, row->key.file)),
			 "layer", trace_layer_name(row->key.layer), "depth", (int)depth, "calls", calls, "bytes_read",
			 (json_int_t)row->bytes[DIR_READ], "bytes_written", (json_int_t)row->bytes[DIR_WRITE],
			 "operations_of_unknown_size", (json_int_t)row->unknown, "seconds", json_seconds(row->ns), "from_seconds",
			 json_seconds(row->first_ns == UINT64_MAX ? 0 : row->first_ns), "to_seconds", json_seconds(row->last_ns));
}

static json_t *view_handles_json(const struct analysis *a)
{
	json_t *rows = json_array();
	struct tree t;

	tree_init(&t, a);
	for (size_t i = 0; i < t.n; i++)
		json_array_append_new(rows, row_object(a, t.d->rows.v[t.order[i]], t.depth[i]));
	tree_deinit(&t);
	return json_pack("{s:o, s:o, s:I}", "by", json_location(a, a->detail->location), "handles", rows, "calls_not_listed",
			 (json_int_t)a->detail->dropped_rows);
}

/* ---- HTML ---- */

/* One path per kind: its lane has a rectangle for each run of intervals with calls of the kind. */
static void svg_lane(FILE *out, const float *busy, unsigned kind, unsigned y)
{
	double step = (double)(WIDTH - LABEL) / DETAIL_BINS;
	bool any = false;

	for (unsigned b = 0, end; b < DETAIL_BINS; b = end + 1) {
		for (end = b; end < DETAIL_BINS && busy[end] > 0; end++)
			;
		if (end == b)
			continue;
		if (!any)
			fprintf(out, "<path class=k%u d=\"", kind);
		any = true;
		fprintf(out, "M%.1f %uh%.1fv%dh-%.1fz", LABEL + b * step, y + 2 + kind * LANE, (end - b) * step, LANE - 1,
			(end - b) * step);
	}
	if (any)
		fputs("\" />", out);
}

static void view_handles_svg_row(FILE *out, const struct analysis *a, const struct detail_row *row, unsigned depth, unsigned y)
{
	char name[200];

	escape_terminal(name, sizeof(name), file_name(a, row->key.file), 34 - (depth > 4 ? 4 : depth) * 2);
	fprintf(out, "<text x=%u y=%u>%s%s", 10 * depth, y + 15, depth ? "\342\224\224 " : "", trace_layer_name(row->key.layer));
	if (view_handles_names_file(a->detail, row)) {
		fputc(' ', out);
		escape_html(out, name);
	}
	fprintf(out, "</text><path class=grid d=\"M%d %uH%d\" />", LABEL, y + ROW, WIDTH);
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		svg_lane(out, row->busy[k], k, y);
	fputc('\n', out);
}

static void view_handles_html_key(FILE *out)
{
	fputs("<ul class=key>", out);
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		fprintf(out, "<li><svg width=14 height=14><rect class=k%u width=14 height=14 /></svg> %s", k, detail_kind_names[k]);
	fputs("</ul>\n", out);
}

static void html_chart(FILE *out, const struct analysis *a, const struct tree *t)
{
	size_t n = t->n < ROWS ? t->n : ROWS;
	char from[24], to[24];

	words_seconds(from, sizeof(from), t->d->first_ns);
	words_seconds(to, sizeof(to), t->d->last_ns);
	fprintf(out, "<div class=wide><svg viewBox=\"0 0 %d %zu\" width=%d role=img aria-label=\"handles over time\">\n", WIDTH,
		n * ROW + 18, WIDTH);
	for (size_t i = 0; i < n; i++)
		view_handles_svg_row(out, a, t->d->rows.v[t->order[i]], t->depth[i], i * ROW);
	fprintf(out, "<text x=%d y=%zu>%s</text><text x=%d y=%zu text-anchor=end>%s</text></svg></div>\n", LABEL, n * ROW + 14,
		from, WIDTH, n * ROW + 14, to);
}

static void view_handles_html_row(FILE *out, const struct analysis *a, const struct detail_row *row, unsigned depth)
{
	char in[24], written[24], time[24];

	words_bytes(in, sizeof(in), row->bytes[DIR_READ]);
	words_bytes(written, sizeof(written), row->bytes[DIR_WRITE]);
	words_seconds(time, sizeof(time), row->ns);
	fprintf(out, "<tr><td class=d%u>%s<td>", depth > 5 ? 5 : depth, trace_layer_name(row->key.layer));
	escape_html(out, file_name(a, row->key.file));
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		fprintf(out, "<td class=n>%" PRIu64, row->n[k]);
	fprintf(out, "<td class=n>%s<td class=n>%s<td class=n>%s</tr>\n", in, written, time);
}

static void view_handles_html(FILE *out, const struct analysis *a)
{
	char name[128];
	struct tree t;

	tree_init(&t, a);
	location_name(a, a->detail->location, name, sizeof(name));
	fputs("<p>Of ", out);
	escape_html(out, name);
	fputs("; a handle of a library stands above those that it uses. Each row has five lanes, from the top: open, read, write, "
	      "close, other calls.</p>\n",
	      out);
	view_handles_html_key(out);
	html_chart(out, a, &t);
	fputs("<div class=wide><table><tr><th>Layer<th>File", out);
	for (unsigned k = 0; k < DETAIL_KINDS; k++)
		fprintf(out, "<th class=n>%s", detail_kind_names[k]);
	fputs("<th class=n>Read<th class=n>Written<th class=n>Time</tr>\n", out);
	for (size_t i = 0; i < t.n && i < ROWS; i++)
		view_handles_html_row(out, a, t.d->rows.v[t.order[i]], t.depth[i]);
	fputs("</table></div>\n", out);
	if (t.n > ROWS)
		fprintf(out, "<p>and %zu more</p>\n", t.n - ROWS);
	tree_deinit(&t);
}

const struct report_view view_handles = { "handles",         "Handles of one thread over time",
					  view_handles_has,  view_handles_text,
					  view_handles_json, view_handles_html };
