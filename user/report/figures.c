/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes SVG directly: rectangles and text.
 */
#include "report/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>

#include "analysis/words.h"
#include "report/escape.h"
#include "report/facts.h"

#define WIDTH 1000
#define MAX_ROWS 64
#define ROW 14
#define LABEL 160
#define MAX_CLASSES 12

static const char *const classes[REPORT_TIMES] = { "read", "write", "metadata", "sync", "lock", "mpi", "library" };

/* ---- one bar ---- */

void figure_times(FILE *out, const struct analysis *a)
{
	struct report_times t;
	uint64_t sum = 0;
	double x = 0;

	if (a->worst == TRACE_NONE)
		return;
	report_times(a, a->worst, &t);
	for (unsigned i = 0; i < REPORT_TIMES; i++)
		sum += t.ns[i];
	if (!sum)
		return;
	fprintf(out, "<svg viewBox=\"0 0 %d 26\" width=%d role=img aria-label=\"what the I/O time was spent on\">", WIDTH, WIDTH);
	for (unsigned i = 0; i < REPORT_TIMES; i++) {
		double width = (double)WIDTH * t.ns[i] / sum;

		fprintf(out, "<rect class=%s x=%.1f y=0 width=%.1f height=24><title>%s</title></rect>", classes[i], x, width,
			report_time_names[i]);
		x += width;
	}
	fputs("</svg>\n<ul class=key>", out);
	for (unsigned i = 0; i < REPORT_TIMES; i++) {
		char text[24];

		words_seconds(text, sizeof(text), t.ns[i]);
		if (t.ns[i])
			fprintf(out, "<li><svg width=14 height=14><rect class=%s width=14 height=14 /></svg> %s %s</li>",
				classes[i], report_time_names[i], text);
	}
	fputs("</ul>\n", out);
}

/* ---- ranks over time ---- */

static void timeline_row(FILE *out, const struct analysis *a, const char *name, float *const busy[3], double threads, unsigned row)
{
	static const char *const kinds[] = { "read", "write", "metadata" };
	double bin = ((double)a->facts->wall_ns / BINS + 1) * threads, step = (double)(WIDTH - LABEL) / BINS;

	fprintf(out, "<text x=0 y=%u>", row * ROW + 11);
	escape_html(out, name);
	fputs("</text>", out);
	for (unsigned b = 0; b < BINS; b++) {
		double y = (row + 1) * ROW - 1;

		for (unsigned k = 0; k < 3; k++) {
			double height = (ROW - 2) * busy[k][b] / bin;

			if (height < 0.2)
				continue;
			height = height > ROW - 2 ? ROW - 2 : height;
			y -= height;
			fprintf(out, "<rect class=%s x=%.1f y=%.1f width=%.1f height=%.1f />", kinds[k], LABEL + b * step, y, step,
				height);
		}
	}
	fputc('\n', out);
}

struct row { uint32_t location; uint64_t ns; };

static int more_io(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

static int in_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->location < y->location ? -1 : x->location > y->location;
}

/* All threads with I/O, those with most of it first; then the shown ones in the archive's order. Returns how many there are. */
static size_t list_rows(const struct analysis *a, struct row *rows, size_t *shown)
{
	size_t n = 0;

	for (uint32_t i = 0; i < a->trace->locations.n; i++)
		if (location_counts(a, i) && a->facts->locations[i].io_ns)
			rows[n++] = (struct row){ i, a->facts->locations[i].io_ns };
	qsort(rows, n, sizeof(*rows), more_io);
	*shown = n > MAX_ROWS ? MAX_ROWS - 1 : n;
	qsort(rows, *shown, sizeof(*rows), in_order);
	return n;
}

static void timeline_others(FILE *out, const struct analysis *a, const struct row *rows, size_t n, unsigned row)
{
	float sum[3][BINS] = { { 0 } };
	char name[40];

	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++)
			for (unsigned b = 0; b < BINS; b++)
				sum[k][b] += a->facts->locations[rows[i].location].busy[k][b];
	snprintf(name, sizeof(name), "mean of %zu others", n);
	timeline_row(out, a, name, (float *const[]){ sum[0], sum[1], sum[2] }, n, row);
}

void figure_timeline(FILE *out, const struct analysis *a)
{
	struct row *rows = calloc(a->trace->locations.n + 1, sizeof(*rows));
	size_t shown = 0, n = rows ? list_rows(a, rows, &shown) : 0;
	unsigned height = (shown + (n > shown)) * ROW;
	char wall[24], name[128];

	if (!n) {
		free(rows);
		return;
	}
	words_seconds(wall, sizeof(wall), a->facts->wall_ns);
	fprintf(out,
		"<h2>I/O over time</h2>\n<p>Share of each 1/%d of %s that a thread spent in outermost calls: read (blue, at the "
		"bottom), write (orange), others (green).</p>\n<div class=wide><svg viewBox=\"0 0 %d %u\" width=%d role=img "
		"aria-label=\"I/O of ranks over time\">\n",
		BINS, wall, WIDTH, height + 16, WIDTH);
	for (size_t i = 0; i < shown; i++) {
		struct location_stat *s = &a->facts->locations[rows[i].location];

		location_name(a, rows[i].location, name, sizeof(name));
		timeline_row(out, a, name, (float *const[]){ s->busy[0], s->busy[1], s->busy[2] }, 1, i);
	}
	if (n > shown)
		timeline_others(out, a, rows + shown, n - shown, shown);
	fprintf(out, "<text x=%d y=%u>0 s</text><text x=%d y=%u text-anchor=end>%s</text></svg></div>\n", LABEL, height + 13, WIDTH,
		height + 13, wall);
	free(rows);
}

/* ---- sizes ---- */

void figure_sizes(FILE *out, const struct analysis *a)
{
	fputs("<h2>Sizes of operations</h2>\n<div class=wide><table><tr><th>Layer<th>Direction", out);
	for (unsigned b = 0; b < 28; b += 4) {
		char text[24];

		words_bytes(text, sizeof(text), 1ull << (b + 3));
		fprintf(out, "<th class=n>%s %s", b == 24 ? "from" : "up to", b == 24 ? "8 MiB" : text);
	}
	fputs("</tr>\n", out);
	for (enum trace_layer l = 0; l <= LAYER_POSIX; l++)
		for (int d = 0; d < DIRS; d++) {
			uint64_t of[7] = { 0 }, sum = 0;

			for (unsigned b = 0; b < SIZE_BINS; b++) {
				of[b / 4 < 6 ? b / 4 : 6] += a->facts->size_counts[l][d][b];
				sum += a->facts->size_counts[l][d][b];
			}
			if (!sum)
				continue;
			fprintf(out, "<tr><td>%s<td>%s", trace_layer_name(l), d == DIR_READ ? "read" : "write");
			for (unsigned b = 0; b < 7; b++)
				fprintf(out, "<td class=n>%" PRIu64, of[b]);
			fputs("</tr>\n", out);
		}
	fputs("</table></div>\n", out);
}

/* ---- collectives ---- */

struct rank_share { uint64_t instances, asked, system_bytes, system_n, system_ns, wait_ns; };

/* All instances of one file; the time until the last member arrives counts as waiting. */
static void share_of_file(const struct analysis *a, size_t begin, size_t end, struct rank_share *of)
{
	for (size_t i = begin, j; i < end; i = j) {
		uint64_t last = 0;

		for (j = i; j < end && a->facts->instances.v[j].ordinal == a->facts->instances.v[i].ordinal; j++)
			if (a->facts->instances.v[j].enter_ns > last)
				last = a->facts->instances.v[j].enter_ns;
		for (size_t k = i; k < j; k++) {
			const struct instance *x = &a->facts->instances.v[k];
			struct rank_share *s = &of[x->location];

			s->instances++;
			s->asked += x->asked;
			s->system_bytes += x->system_bytes;
			s->system_n += x->system_n;
			s->system_ns += x->system_ns;
			s->wait_ns += (last < x->leave_ns ? last : x->leave_ns) - x->enter_ns;
		}
	}
}

static void write_shares(FILE *out, const struct analysis *a, uint32_t file, const struct rank_share *of)
{
	unsigned rows = 0, more = 0;

	fputs("<h3>", out);
	escape_html(out, file_name(a, file));
	fputs("</h3>\n<div class=wide><table><tr><th>Rank<th>Collective calls<th>Bytes asked<th>Bytes in its system "
	      "calls<th>System calls<th>Time in them<th>Waited for others to arrive</tr>\n",
	      out);
	for (uint32_t i = 0; i < a->trace->locations.n; i++) {
		char name[128], asked[24], moved[24], time[24], wait[24];

		if (!of[i].instances)
			continue;
		if (rows == MAX_ROWS) {
			more++;
			continue;
		}
		rows++;
		location_name(a, i, name, sizeof(name));
		words_bytes(asked, sizeof(asked), of[i].asked);
		words_bytes(moved, sizeof(moved), of[i].system_bytes);
		words_seconds(time, sizeof(time), of[i].system_ns);
		words_seconds(wait, sizeof(wait), of[i].wait_ns);
		fputs("<tr><td>", out);
		escape_html(out, name);
		fprintf(out,
			"<td class=n>%" PRIu64 "<td class=n>%s<td class=n>%s<td class=n>%" PRIu64
			"<td class=n>%s<td class=n>%s</tr>\n",
			of[i].instances, asked, moved, of[i].system_n, time, wait);
	}
	fputs("</table></div>\n", out);
	if (more)
		fprintf(out, "<p>and %u more ranks\n", more);
}

void figure_collectives(FILE *out, const struct analysis *a)
{
	const struct instance *v = a->facts->instances.v;
	size_t n = a->facts->instances.n, j;
	unsigned shown = 0, more = 0;

	if (!n)
		return;
	fputs("<h2>Collective calls file by file</h2>\n", out);
	for (size_t i = 0; i < n; i = j) {
		struct rank_share *of;

		for (j = i; j < n && v[j].file == v[i].file; j++)
			;
		if (shown == MAX_CLASSES) {
			more++;
			continue;
		}
		of = calloc(a->trace->locations.n + 1, sizeof(*of));
		if (!of)
			return;
		share_of_file(a, i, j, of);
		write_shares(out, a, v[i].file, of);
		free(of);
		shown++;
	}
	if (more)
		fprintf(out, "<p>and %u more files\n", more);
}
