/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The call stacks of two ranks during one collective call: of the one that moves most data in system calls, and of the one that
 * moves least.
 */
#include "report/view_list.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/detail.h"
#include "analysis/words.h"
#include "report/escape.h"
#include "report/json_values.h"

#define ROWS_TEXT 40
#define WIDTH 1000
#define ROW 16

static bool view_stacks_has(const struct analysis *a)
{
	return a->detail && a->detail->has_collective && a->detail->paths.n;
}

static const char *view_stacks_function(const struct analysis *a, uint32_t region)
{
	return region < a->trace->regions.n ? a->trace->regions.v[region].name : "?";
}

/* Calls visit for each chain of functions, callers first. */
struct visit {
	FILE *out;
	json_t *list;
	const struct analysis *a;
	unsigned rows;
	void (*visit)(struct visit *v, const struct detail_path *path);
};

static void visit_below(struct visit *v, uint32_t parent)
{
	const struct detail *d = v->a->detail;

	for (uint32_t i = parent == TRACE_NONE ? 0 : parent + 1; i < d->paths.n; i++)
		if (d->paths.v[i].parent == parent) {
			v->visit(v, &d->paths.v[i]);
			visit_below(v, i);
		}
}

static void view_stacks_head(const struct analysis *a, char *text, size_t len)
{
	const struct detail *d = a->detail;
	char from[24], span[24];

	words_seconds(from, sizeof(from), d->begin_ns);
	words_seconds(span, sizeof(span), d->end_ns - d->begin_ns);
	snprintf(text, len, "%s by %" PRIu64 " ranks, %s from %s on; the system calls of %" PRIu64 " of them move data",
		 view_stacks_function(a, d->region), d->members, span, from, d->workers);
}

/* ---- text ---- */

static void text_path(struct visit *v, const struct detail_path *path)
{
	char time[2][24];
	int indent = path->depth < 12 ? 2 * path->depth : 24;

	if (v->rows++ >= ROWS_TEXT)
		return;
	for (unsigned side = 0; side < 2; side++)
		words_seconds(time[side], sizeof(time[side]), path->of[side].ns);
	fprintf(v->out, "%*s%-*.*s", indent, "", 52 - indent, 52 - indent, view_stacks_function(v->a, path->region));
	for (unsigned side = 0; side < 2; side++)
		fprintf(v->out, " %8" PRIu64 " %10s", path->of[side].n, path->of[side].n ? time[side] : "-");
	fputc('\n', v->out);
}

static void view_stacks_text(FILE *out, const struct analysis *a)
{
	const struct detail *d = a->detail;
	struct visit v = { .out = out, .a = a, .visit = text_path };
	char line[300], name[200];

	view_stacks_head(a, line, sizeof(line));
	escape_terminal(name, sizeof(name), file_name(a, d->file), 96);
	fprintf(out, "%s\non %s\n%-52s", line, name, "calls, and their time inside that span");
	for (unsigned side = 0; side < 2; side++) {
		location_name(a, d->stacks[side].location, line, sizeof(line));
		escape_terminal(name, sizeof(name), line, 18);
		fprintf(out, " %19s", name);
	}
	fputc('\n', out);
	visit_below(&v, TRACE_NONE);
	if (v.rows > ROWS_TEXT)
		fprintf(out, "and %u more\n", v.rows - ROWS_TEXT);
	if (d->dropped_paths)
		fprintf(out, "%" PRIu64 " calls of further functions\n", d->dropped_paths);
}

/* ---- JSON ---- */

static void json_path(struct visit *v, const struct detail_path *path)
{
	json_array_append_new(v->list, json_pack("{s:o, s:i, s:[I,I], s:[o,o]}", "function",
						 json_text(view_stacks_function(v->a, path->region)), "depth", (int)path->depth,
						 "calls", (json_int_t)path->of[0].n, (json_int_t)path->of[1].n, "seconds",
						 json_seconds(path->of[0].ns), json_seconds(path->of[1].ns)));
}

static json_t *view_stacks_json(const struct analysis *a)
{
	const struct detail *d = a->detail;
	struct visit v = { .list = json_array(), .a = a, .visit = json_path };

	visit_below(&v, TRACE_NONE);
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:[o,o], s:o, s:I}", "function",
			 json_text(view_stacks_function(a, d->region)), "path", json_text(file_name(a, d->file)), "from_seconds",
			 json_seconds(d->begin_ns), "to_seconds", json_seconds(d->end_ns), "ranks", (json_int_t)d->members,
			 "ranks_with_data", (json_int_t)d->workers, "of", json_location(a, d->stacks[0].location),
			 json_location(a, d->stacks[1].location), "stacks", v.list, "calls_not_listed",
			 (json_int_t)d->dropped_paths);
}

/* ---- HTML ---- */

static void svg_frame(FILE *out, const struct analysis *a, const struct detail_frame *f, unsigned top)
{
	const struct detail *d = a->detail;
	double scale = (double)WIDTH / (d->end_ns - d->begin_ns + 1), x = (f->begin_ns - d->begin_ns) * scale,
	       width = (f->end_ns - f->begin_ns) * scale;
	const char *name = view_stacks_function(a, f->region);
	unsigned y = top + f->depth * ROW;
	unsigned layer = f->region < a->trace->regions.n ? a->trace->regions.v[f->region].layer : LAYER_OTHER;
	char time[24];

	words_seconds(time, sizeof(time), f->end_ns - f->begin_ns);
	fprintf(out, "<rect class=l%u x=%.1f y=%u width=%.1f height=%d><title>", layer, x, y, width < 1 ? 1 : width, ROW - 2);
	escape_html(out, name);
	fprintf(out, " %s</title></rect>", time);
	if (width > 7.5 * strlen(name)) {
		fprintf(out, "<text class=on x=%.1f y=%u>", x + 3, y + 11);
		escape_html(out, name);
		fputs("</text>", out);
	}
	fputc('\n', out);
}

static void svg_stack(FILE *out, const struct analysis *a, const struct detail_stack *s)
{
	unsigned deepest = 0;
	char name[128];

	for (size_t i = 0; i < s->frames.n; i++)
		deepest = s->frames.v[i].depth > deepest ? s->frames.v[i].depth : deepest;
	location_name(a, s->location, name, sizeof(name));
	fputs("<h3>", out);
	escape_html(out, name);
	fprintf(out, "</h3>\n<div class=wide><svg viewBox=\"0 0 %d %u\" width=%d role=img aria-label=\"call stack over time\">\n",
		WIDTH, (deepest + 1) * ROW, WIDTH);
	for (size_t i = 0; i < s->frames.n; i++)
		svg_frame(out, a, &s->frames.v[i], 0);
	fputs("</svg></div>\n", out);
	if (s->dropped)
		fprintf(out, "<p>%" PRIu64 " further calls are not drawn</p>\n", s->dropped);
}

static void html_path(struct visit *v, const struct detail_path *path)
{
	char time[24];

	fprintf(v->out, "<tr><td class=d%u>", path->depth > 8 ? 8 : path->depth);
	escape_html(v->out, view_stacks_function(v->a, path->region));
	for (unsigned side = 0; side < 2; side++) {
		words_seconds(time, sizeof(time), path->of[side].ns);
		fprintf(v->out, "<td class=n>%" PRIu64 "<td class=n>%s", path->of[side].n, path->of[side].n ? time : "-");
	}
	fputs("</tr>\n", v->out);
}

static void view_stacks_html_key(FILE *out, const struct analysis *a)
{
	bool used[LAYERS] = { false };

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < a->detail->stacks[side].frames.n; i++) {
			uint32_t region = a->detail->stacks[side].frames.v[i].region;

			used[region < a->trace->regions.n ? a->trace->regions.v[region].layer : LAYER_OTHER] = true;
		}
	fputs("<ul class=key>", out);
	for (enum trace_layer l = 0; l < LAYERS; l++)
		if (used[l])
			fprintf(out, "<li><svg width=14 height=14><rect class=l%d width=14 height=14 /></svg> %s", l,
				trace_layer_name(l));
	fputs("</ul>\n", out);
}

static void view_stacks_html(FILE *out, const struct analysis *a)
{
	const struct detail *d = a->detail;
	struct visit v = { .out = out, .a = a, .visit = html_path };
	char line[300];

	view_stacks_head(a, line, sizeof(line));
	fputs("<p>The longest collective call: ", out);
	escape_html(out, line);
	fputs(". On <code>", out);
	escape_html(out, file_name(a, d->file));
	fputs("</code>.</p>\n", out);
	view_stacks_html_key(out, a);
	for (unsigned side = 0; side < 2; side++)
		svg_stack(out, a, &d->stacks[side]);
	fputs("<div class=wide><table><tr><th>Call", out);
	for (unsigned side = 0; side < 2; side++) {
		location_name(a, d->stacks[side].location, line, sizeof(line));
		fputs("<th class=n colspan=2>", out);
		escape_html(out, line);
	}
	fputs("</tr>\n", out);
	visit_below(&v, TRACE_NONE);
	fputs("</table></div>\n", out);
}

const struct report_view view_stacks = { "stacks",         "Call stacks of two ranks during one collective call",
					 view_stacks_has,  view_stacks_text,
					 view_stacks_json, view_stacks_html };
