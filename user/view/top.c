/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Keeps what an interval adds, prints it when the interval is whole, and begins anew.
 */
#include "view/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/hash.h"
#include "util/quantity.h"
#include "util/utf8.h"

#define FIXED_LINES 6 /* heads and empty lines between the tables */

struct layer_line {
	char name[32];
	struct summary_calls calls;
	struct summary_counts counts;
};
/* Definitions stay, numbers are of this interval. */
struct process_line {
	uint32_t id;
	char *name;
	uint64_t calls, time_ns;
	UT_hash_handle hh;
};
struct file_line {
	uint32_t id;
	char *path;
	bool special;
	uint64_t reads, writes, bytes_read, bytes_written, time_ns;
	UT_hash_handle hh;
};

struct top {
	struct live_output output; /* first: the public face */
	FILE *out;
	unsigned columns, lines;
	bool clear;
	char *host;
	struct layer_line *layers;
	size_t nlayers;
	struct process_line *processes;
	struct file_line *files;
};

static int set_text(char **text, const char *value)
{
	char *copy = value ? utf8_printable(value) : strdup("(unknown)");

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static struct layer_line *layer_of(struct top *t, const char *name)
{
	struct layer_line *grown;

	for (size_t i = 0; i < t->nlayers; i++)
		if (!strncmp(t->layers[i].name, name, sizeof(t->layers[i].name) - 1))
			return &t->layers[i];
	grown = reallocarray(t->layers, t->nlayers + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	t->layers = grown;
	grown[t->nlayers] = (struct layer_line){ 0 };
	snprintf(grown[t->nlayers].name, sizeof(grown->name), "%s", name);
	return &grown[t->nlayers++];
}

/* ---- what is reported ---- */

static int top_begin(struct live_output *output, const struct live_job *job)
{
	return set_text(&((struct top *)output)->host, job->host);
}

static struct process_line *process_of(struct top *t, uint32_t id)
{
	struct process_line *line;

	HASH_FIND(hh, t->processes, &id, sizeof(id), line);
	if (line || !(line = calloc(1, sizeof(*line))))
		return line;
	line->id = id;
	HASH_ADD(hh, t->processes, id, sizeof(line->id), line);
	if (hash_added(line))
		return line;
	free(line);
	return NULL;
}

static struct file_line *file_of(struct top *t, uint32_t id)
{
	struct file_line *line;

	HASH_FIND(hh, t->files, &id, sizeof(id), line);
	if (line || !(line = calloc(1, sizeof(*line))))
		return line;
	line->id = id;
	HASH_ADD(hh, t->files, id, sizeof(line->id), line);
	if (hash_added(line))
		return line;
	free(line);
	return NULL;
}

static int top_process(struct live_output *output, const struct live_process *p)
{
	struct process_line *line = process_of((struct top *)output, p->id);

	return line ? set_text(&line->name, p->name) : -ENOMEM;
}

static int top_file(struct live_output *output, const struct live_file *f)
{
	struct file_line *line = file_of((struct top *)output, f->id);

	if (line)
		line->special = f->special;
	return line ? set_text(&line->path, f->path) : -ENOMEM;
}

static int top_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	struct top *t = (struct top *)output;
	struct layer_line *layer = layer_of(t, c->layer);
	struct process_line *process = process_of(t, c->process);

	(void)interval;
	if (!process || !layer)
		return -ENOMEM;
	process->calls += c->added->calls;
	if (c->added->time_ns > process->time_ns)
		process->time_ns = c->added->time_ns; /* layers contain each other: of the one with most */
	layer->calls.calls += c->added->calls;
	layer->calls.failed += c->added->failed;
	layer->calls.time_ns += c->added->time_ns;
	return 0;
}

static int top_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	struct top *t = (struct top *)output;
	struct layer_line *layer = layer_of(t, o->layer);
	struct file_line *file = file_of(t, o->file);

	(void)interval;
	if (!file || !layer)
		return -ENOMEM;
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)&layer->counts)[i] += ((const uint64_t *)o->added)[i];
	if (o->added->time_ns >= file->time_ns) { /* the same bytes pass several layers: those of the one with most time */
		file->time_ns = o->added->time_ns;
		file->bytes_read = o->added->bytes_read;
		file->bytes_written = o->added->bytes_written;
		file->reads = o->added->reads;
		file->writes = o->added->writes;
	}
	return 0;
}

/* ---- the page ---- */

static int by_time(const void *a, const void *b)
{
	const struct file_line *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns ? 1 : -1 : x->id < y->id ? -1 : 1;
}

static int processes_by_time(const void *a, const void *b)
{
	const struct process_line *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns ? 1 : -1 : x->id < y->id ? -1 : 1;
}

/* Per second, with a unit. */
static const char *rate(uint64_t bytes, double seconds, char *text, size_t len)
{
	char plain[32];

	snprintf(text, len, "%s/s", quantity_format_bytes(bytes / seconds, plain, sizeof(plain)));
	return bytes ? text : "-";
}

static void print_layers(const struct top *t, double seconds)
{
	char read[40], written[40];

	fprintf(t->out, "%-10s %11s %8s %14s %14s %10s\n", "layer", "calls/s", "failed/s", "read", "written", "time");
	for (size_t i = 0; i < t->nlayers; i++) {
		const struct layer_line *l = &t->layers[i];

		fprintf(t->out, "%-10.10s %11.0f %8.0f %14s %14s %8.3f s\n", l->name, l->calls.calls / seconds,
			l->calls.failed / seconds, rate(l->counts.bytes_read, seconds, read, sizeof(read)),
			rate(l->counts.bytes_written, seconds, written, sizeof(written)), l->calls.time_ns / 1e9);
	}
}

/* The end of a path says more than its beginning. */
static const char *tail(const char *text, size_t width)
{
	size_t len = strlen(text);

	return len > width ? text + len - width : text;
}

static void print_processes(const struct top *t, size_t lines)
{
	size_t n = HASH_COUNT(t->processes), i = 0;
	const struct process_line **v = calloc(n + 1, sizeof(*v));

	for (const struct process_line *p = t->processes; p && v; p = p->hh.next)
		v[i++] = p;
	if (!v)
		return;
	qsort(v, n, sizeof(*v), processes_by_time);
	fprintf(t->out, "\n%10s %12s  process\n", "time", "calls");
	for (i = 0; i < n && i < lines && v[i]->calls; i++)
		fprintf(t->out, "%8.3f s %12llu  %.*s\n", v[i]->time_ns / 1e9, (unsigned long long)v[i]->calls,
			(int)t->columns - 26, v[i]->name ?: "(unknown)");
	free(v);
}

static void print_files(const struct top *t, double seconds, size_t lines)
{
	size_t n = 0;
	const struct file_line **v = calloc(HASH_COUNT(t->files) + 1, sizeof(*v));
	char read[40], written[40];

	for (const struct file_line *f = t->files; f && v; f = f->hh.next)
		if (!f->special && (f->time_ns || f->reads || f->writes))
			v[n++] = f;
	if (!v)
		return;
	qsort(v, n, sizeof(*v), by_time);
	fprintf(t->out, "\n%10s %14s %14s  file\n", "time", "read", "written");
	for (size_t i = 0; i < n && i < lines; i++)
		fprintf(t->out, "%8.3f s %14s %14s  %s\n", v[i]->time_ns / 1e9, rate(v[i]->bytes_read, seconds, read, sizeof(read)),
			rate(v[i]->bytes_written, seconds, written, sizeof(written)),
			tail(v[i]->path ?: "(unknown)", t->columns - 43));
	free(v);
}

static void clear_interval(struct top *t)
{
	for (size_t i = 0; i < t->nlayers; i++)
		t->layers[i].calls = (struct summary_calls){ 0 }, t->layers[i].counts = (struct summary_counts){ 0 };
	for (struct process_line *p = t->processes; p; p = p->hh.next)
		p->calls = p->time_ns = 0;
	for (struct file_line *f = t->files; f; f = f->hh.next)
		f->reads = f->writes = f->bytes_read = f->bytes_written = f->time_ns = 0;
}

static int top_interval(struct live_output *output, const struct live_interval *i)
{
	struct top *t = (struct top *)output;
	double seconds = (i->end_ns - i->begin_ns) / 1e9;
	size_t room = t->lines > FIXED_LINES + t->nlayers ? t->lines - FIXED_LINES - t->nlayers : 2;
	time_t begin = i->begin_ns / 1000000000;
	char clock[32] = "";
	struct tm tm;

	if (localtime_r(&begin, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (t->clear)
		fputs("\033[H\033[J", t->out);
	fprintf(t->out, "%.*s  %s + %g s  %llu open calls, %.1f s behind\n", (int)t->columns - 52, t->host ?: "", clock, seconds,
		(unsigned long long)i->open_calls, i->lag_ns / 1e9);
	print_layers(t, seconds);
	print_processes(t, room / 2);
	print_files(t, seconds, room - room / 2);
	clear_interval(t);
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
					  .process = top_process,
					  .file = top_file,
					  .calls = top_calls,
					  .operations = top_operations,
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
	struct process_line *p, *next_process;
	struct file_line *f, *next_file;

	if (!t)
		return;
	HASH_ITER(hh, t->processes, p, next_process) {
		HASH_DEL(t->processes, p);
		free(p->name);
		free(p);
	}
	HASH_ITER(hh, t->files, f, next_file) {
		HASH_DEL(t->files, f);
		free(f->path);
		free(f);
	}
	free(t->layers);
	free(t->host);
	free(t);
}
