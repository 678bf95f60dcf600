/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Statistics as a table for spreadsheets and data frames: one row per file, rank or process, and layer. RFC 4180.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/utf8.h"

/* A cell that begins with one of = + - @ would be evaluated as a formula by a spreadsheet. */
static void csv_cell(FILE *out, const char *text)
{
	char *printable = utf8_printable(text ? text : "");

	fputc('"', out);
	if (printable && (*printable == '=' || *printable == '+' || *printable == '-' || *printable == '@'))
		fputc('\'', out);
	for (const char *at = printable; at && *at; at++) {
		if (*at == '"')
			fputc('"', out);
		fputc(*at, out);
	}
	fputc('"', out);
	free(printable);
}

static void csv_row(FILE *out, const struct analysis *a, const struct io_stat *s)
{
	char name[128];

	csv_cell(out, file_name(a, s->key.file));
	fprintf(out, ",%s,%s,", file_class_name(a->facts->file_class[s->key.file]), trace_layer_name(s->key.layer));
	location_name(a, s->key.location, name, sizeof(name));
	csv_cell(out, name);
	fprintf(out, ",%" PRIu64 ",%.9f", s->calls, s->ns / 1e9);
	for (int d = 0; d < DIRS; d++) {
		const struct dir_stat *x = &s->dir[d];

		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%.9f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, x->n,
			x->bytes, x->ns / 1e9, x->small, x->positioned, x->sequential, x->random, x->collective);
	}
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", s->meta[CLASS_OPEN].n, s->meta[CLASS_SYNC].n, s->meta[CLASS_LOCK].n);
}

int report_write_csv(FILE *out, const struct analysis *a, const struct report_options *options)
{
	(void)options;
	fprintf(out, "file,class,layer,by,calls,seconds");
	for (int d = 0; d < DIRS; d++) {
		const char *s = d == DIR_READ ? "read" : "write";

		fprintf(out, ",%ss,%s_bytes,%s_seconds,%ss_small,%ss_positioned,%ss_sequential,%ss_random,%ss_collective", s, s, s,
			s, s, s, s, s);
	}
	fprintf(out, ",opens,syncs,locks\n");
	for (size_t i = 0; i < a->facts->io.n; i++)
		if (a->facts->io.v[i]->key.file < a->trace->files.n)
			csv_row(out, a, a->facts->io.v[i]);
	return 0;
}
