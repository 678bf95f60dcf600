/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Prints an interval when it is complete.
 */
#include "view/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/sums.h"
#include "util/quantity.h"
#include "util/utf8.h"

#define FIXED_LINES 11 /* headings, lines for others and what is missing, and empty lines between the tables */
#define MOUNT_LINES 4
#define LEAST_ROOM 10 /* for processes and files, where classes and sizes are shown, too */

struct top {
	struct live_output output; /* first member: the public interface */
	FILE *out;
	unsigned columns, lines;
	bool clear;
	char *host;
	struct sums sums;
};

static int top_set_text(char **text, const char *value)
{
	char *copy = value ? utf8_printable(value) : strdup("(unknown)");

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* ---- what is reported ---- */

static int top_begin(struct live_output *output, const struct live_job *job)
{
	return top_set_text(&((struct top *)output)->host, job->host);
}

static int top_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	return sums_add_calls(&((struct top *)output)->sums, interval, c);
}

static int top_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	return sums_add_operations(&((struct top *)output)->sums, interval, o);
}

static int top_gap(struct live_output *output, const struct live_interval *interval, const struct live_gap *gap)
{
	(void)interval;
	sums_add_gap(&((struct top *)output)->sums, gap);
	return 0;
}

static int top_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *skipped)
{
	(void)interval;
	sums_add_skipped(&((struct top *)output)->sums, skipped);
	return 0;
}

/* ---- the page ---- */

/* Formats a rate per second with a unit. */
static const char *top_rate(uint64_t bytes, double seconds, char *text, size_t len)
{
	char plain[32];

	snprintf(text, len, "%s/s", quantity_format_bytes(bytes / seconds, plain, sizeof(plain)));
	return bytes ? text : "-";
}

static void print_layers(const struct top *t, double seconds)
{
	char read[40], written[40];

	fprintf(t->out, "%-8s %9s %10s %8s %14s %14s %10s\n", "layer", "calls/s", "metadata/s", "failed/s", "read", "written",
		"time");
	for (size_t i = 0; i < t->sums.nlayers; i++) {
		const struct sums_layer *l = &t->sums.layers[i];

		fprintf(t->out, "%-8.8s %9.0f %10.0f %8.0f %14s %14s %8.3f s\n", l->name, l->calls.calls / seconds,
			l->calls.classes[MODEL_CLASS_METADATA].calls / seconds, l->calls.failed / seconds,
			top_rate(l->counts.bytes_read, seconds, read, sizeof(read)),
			top_rate(l->counts.bytes_written, seconds, written, sizeof(written)), l->calls.time_ns / 1e9);
	}
}

/* At most 6 characters. */
static const char *top_count(uint64_t n, char *text, size_t len)
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;

	for (; n > 99999; n /= 1000)
		unit++;
	snprintf(text, len, unit ? "%llu%c" : "%llu", (unsigned long long)n, units[unit]);
	return text;
}

static void print_classes(const struct top *t, double seconds)
{
	fputs("\ncalls/s ", t->out);
	for (int i = 0; i < MODEL_CLASSES; i++)
		fprintf(t->out, " %8s", summary_class_name(i));
	for (size_t k = 0; k < t->sums.nlayers; k++) {
		const struct sums_layer *l = &t->sums.layers[k];

		fprintf(t->out, "\n%-8.8s", l->name);
		for (int i = 0; i < MODEL_CLASSES; i++)
			fprintf(t->out, " %8.0f", l->calls.classes[i].calls / seconds);
	}
	fputc('\n', t->out);
}

/* Operations of the interval by the most that they moved. */
static void print_sizes(const struct top *t)
{
	char text[40];

	fputs("\nup to   ", t->out);
	for (int i = 0; i < SUMMARY_SIZES - 1; i++) {
		uint64_t limit = summary_size_limit(i);
		char unit = limit >= 1 << 30 ? 'G' : limit >= 1 << 20 ? 'M' : limit >= 1 << 10 ? 'K' : 'B';

		fprintf(t->out, " %5llu%c",
			(unsigned long long)(limit >> (unit == 'G' ? 30 : unit == 'M' ? 20 : unit == 'K' ? 10 : 0)), unit);
	}
	fputs("   more", t->out);
	for (size_t k = 0; k < t->sums.nlayers; k++) {
		const struct summary_sizes *sizes = &t->sums.layers[k].calls.sizes;

		fprintf(t->out, "\n%-8.8s", t->sums.layers[k].name);
		for (int i = 0; i < SUMMARY_SIZES; i++)
			fprintf(t->out, " %6s", top_count(sizes->read[i] + sizes->written[i], text, sizeof(text)));
	}
	fputc('\n', t->out);
}

/* Returns the end of a path, which is more informative than its beginning. */
static const char *top_tail(const char *text, size_t width)
{
	size_t len = strlen(text);

	return len > width ? text + len - width : text;
}

static void print_processes(const struct top *t, size_t lines)
{
	size_t n;
	const struct sums_process **v = sums_processes(&t->sums, lines, &n);

	fprintf(t->out, "\n%10s %12s  process\n", "time", "calls");
	for (size_t i = 0; v && i < n; i++)
		fprintf(t->out, "%8.3f s %12llu  %.*s\n", v[i]->time_ns / 1e9, (unsigned long long)v[i]->calls,
			(int)t->columns - 26, v[i]->name);
	if (t->sums.other_processes)
		fprintf(t->out, "%8.3f s %12s  others\n", sums_other_process_ns(&t->sums) / 1e9, "");
	free(v);
}

static void top_print_file(const struct top *t, double seconds, const char *path, const struct summary_counts *counts)
{
	char read[40], written[40];

	fprintf(t->out, "%8.3f s %14s %14s  %s\n", counts->time_ns / 1e9, top_rate(counts->bytes_read, seconds, read, sizeof(read)),
		top_rate(counts->bytes_written, seconds, written, sizeof(written)), top_tail(path, t->columns - 43));
}

static void top_print_files(const struct top *t, double seconds, size_t lines)
{
	size_t n;
	const struct sums_file **v = sums_files(&t->sums, lines, &n);
	uint32_t others = sums_other_files_layer(&t->sums);

	fprintf(t->out, "\n%10s %14s %14s  file\n", "time", "read", "written");
	for (size_t i = 0; v && i < n; i++)
		top_print_file(t, seconds, v[i]->path, &v[i]->by_layer[sums_file_layer(v[i])]);
	if (others != UINT32_MAX)
		top_print_file(t, seconds, "others", &t->sums.other_files_by_layer[others]);
	free(v);
}

static int mounts_by_time(const void *a, const void *b)
{
	const struct sums_mount *x = *(void *const *)a, *y = *(void *const *)b;
	uint64_t x_ns = x->by_layer[sums_mount_layer(x)].time_ns, y_ns = y->by_layer[sums_mount_layer(y)].time_ns;

	return x_ns != y_ns ? x_ns < y_ns ? 1 : -1 : strcmp(x->name, y->name);
}

/* Those with most time. */
static void print_mounts(const struct top *t, double seconds)
{
	const struct sums_mount *v[SUMS_MOUNTS + 1];
	size_t n = 0;

	for (size_t i = 0; i < t->sums.nmounts && n < SUMS_MOUNTS + 1; i++)
		if (sums_mount_layer(&t->sums.mounts[i]) != UINT32_MAX)
			v[n++] = &t->sums.mounts[i];
	qsort(v, n, sizeof(*v), mounts_by_time);
	fprintf(t->out, "\n%10s %14s %14s  mount point\n", "time", "read", "written");
	for (size_t i = 0; i < n && i < MOUNT_LINES; i++)
		top_print_file(t, seconds, v[i]->name, &v[i]->by_layer[sums_mount_layer(v[i])]);
}

/* What this page does not show. */
static void top_print_missing(const struct top *t, const struct live_interval *i)
{
	if (i->records_lost || t->sums.gaps || t->sums.skipped)
		fprintf(t->out, "not counted: %llu records lost, %llu gaps of %.3f s, %llu calls skipped by filters\n",
			(unsigned long long)i->records_lost, (unsigned long long)t->sums.gaps, t->sums.gap_ns / 1e9,
			(unsigned long long)t->sums.skipped);
}

static int top_interval(struct live_output *output, const struct live_interval *i)
{
	struct top *t = (struct top *)output;
	double seconds = (i->end_ns - i->begin_ns) / 1e9;
	size_t fixed = FIXED_LINES + MOUNT_LINES + t->sums.nlayers, more = 4 + 2 * t->sums.nlayers, room;
	bool large = t->lines >= fixed + more + LEAST_ROOM;
	time_t begin = i->begin_ns / 1000000000;
	char clock[32] = "";
	struct tm tm;

	fixed += large ? more : 0;
	room = t->lines > fixed ? t->lines - fixed : 2;
	if (localtime_r(&begin, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (t->clear)
		fputs("\033[H\033[J", t->out);
	fprintf(t->out, "%.*s  %s + %g s  %llu open calls, %.1f s behind\n", (int)t->columns - 52, t->host ?: "", clock, seconds,
		(unsigned long long)i->open_calls, i->lag_ns / 1e9);
	print_layers(t, seconds);
	if (large) {
		print_classes(t, seconds);
		print_sizes(t);
	}
	print_processes(t, room / 2);
	top_print_files(t, seconds, room - room / 2);
	print_mounts(t, seconds);
	top_print_missing(t, i);
	sums_clear(&t->sums);
	if (!t->clear)
		fputc('\n', t->out);
	errno = 0;
	if (!fflush(t->out) && !ferror(t->out))
		return 0;
	snprintf(output->err, sizeof(output->err), "cannot write the page: %s", strerror(errno));
	return errno ? -errno : -EIO;
}

static int top_end(struct live_output *output, const struct live_end *end)
{
	struct top *t = (struct top *)output;

	fprintf(t->out, "the recording has ended%s%s; records lost %s%llu\n", end->stopped_by ? ": " : "", end->stopped_by ?: "",
		end->complete ? "" : "at least ", (unsigned long long)end->records_lost);
	return 0;
}

int top_create(struct live_output **output, FILE *out, unsigned columns, unsigned lines, bool clear)
{
	struct top *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->output = (struct live_output){ .begin = top_begin,
					  .calls = top_calls,
					  .operations = top_operations,
					  .gap = top_gap,
					  .skipped = top_skipped,
					  .interval = top_interval,
					  .end = top_end };
	t->out = out;
	t->columns = columns < 80 ? 80 : columns;
	t->lines = lines < 16 ? 16 : lines;
	t->clear = clear;
	*output = &t->output;
	return 0;
}

void top_destroy(struct live_output *output)
{
	struct top *t = (struct top *)output;

	if (!t)
		return;
	sums_deinit(&t->sums);
	free(t->host);
	free(t);
}
