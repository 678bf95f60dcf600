/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines of JSON. Fields are only ever added; the first line has the version.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define STREAM_FORMAT "ioprobe stream 1"

struct ndjson {
	struct live_output output;
	FILE *out;
}; /* output first: the public face */

static json_t *text(const char *value)
{
	char *printable = value ? utf8_printable(value) : NULL;
	json_t *json = !value ? json_null() : printable ? json_string(printable) : NULL;

	free(printable);
	return json;
}

/* Seconds with nine digits: a double cannot hold nanoseconds since 1970. */
static json_t *seconds(uint64_t ns)
{
	return json_sprintf("%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static int write_line(struct live_output *output, json_t *line)
{
	struct ndjson *n = (struct ndjson *)output;
	int ret = line ? 0 : -ENOMEM;

	errno = 0;
	if (!ret && (json_dumpf(line, n->out, JSON_COMPACT | JSON_PRESERVE_ORDER) || fputc('\n', n->out) == EOF))
		ret = errno ? -errno : -EIO;
	json_decref(line);
	if (ret)
		snprintf(output->err, sizeof(output->err), "cannot write the stream: %s", strerror(-ret));
	return ret;
}

static int write_begin(struct live_output *output, const struct live_job *job)
{
	return write_line(output, json_pack("{ss ss so so so so so so sI}", "type", "begin", "format", STREAM_FORMAT, "host",
					    text(job->host), "kernel", text(job->kernel), "version", text(job->version),
					    "batch_job", text(job->batch_job), "command_line", text(job->command_line), "time",
					    seconds(job->begin_ns), "interval_ns", (json_int_t)job->interval_ns));
}

static int write_process(struct live_output *output, const struct live_process *p)
{
	return write_line(output, json_pack("{ss sI sI so so so}", "type", "process", "process", (json_int_t)p->id, "pid",
					    (json_int_t)p->pid, "rank", p->rank >= 0 ? json_integer(p->rank) : json_null(), "name",
					    text(p->name), "executable", text(p->executable)));
}

static int write_file(struct live_output *output, const struct live_file *f)
{
	return write_line(output,
			  json_pack("{ss sI so so so so so sb}", "type", "file", "file", (json_int_t)f->id, "path", text(f->path),
				    "mount_point", text(f->mount_point), "mount_source", text(f->mount_source), "file_system",
				    text(f->fs_type), "scope", text(f->scope), "special", f->special));
}

static int write_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	return write_line(output, json_pack("{ss sI sI ss sI sI sI sI}", "type", "calls", "interval", (json_int_t)interval->number,
					    "process", (json_int_t)c->process, "layer", c->layer, "calls",
					    (json_int_t)c->added->calls, "failed", (json_int_t)c->added->failed, "time_ns",
					    (json_int_t)c->added->time_ns, "system_time_ns", (json_int_t)c->added->system_ns));
}

static int write_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	const struct summary_counts *a = o->added;

	return write_line(output,
			  json_pack("{ss sI sI sI ss sI sI sI sI sI sI sI sI sI sI sI sI sI}", "type", "operations", "interval",
				    (json_int_t)interval->number, "process", (json_int_t)o->process, "file", (json_int_t)o->file,
				    "layer", o->layer, "reads", (json_int_t)a->reads, "writes", (json_int_t)a->writes, "bytes_read",
				    (json_int_t)a->bytes_read, "bytes_written", (json_int_t)a->bytes_written, "reads_of_known_size",
				    (json_int_t)a->known_reads, "writes_of_known_size", (json_int_t)a->known_writes,
				    "reads_of_unknown_size", (json_int_t)a->unknown_reads, "writes_of_unknown_size",
				    (json_int_t)a->unknown_writes, "reads_failed", (json_int_t)a->failed_reads, "writes_failed",
				    (json_int_t)a->failed_writes, "opens", (json_int_t)a->opens, "time_ns", (json_int_t)a->time_ns,
				    "metadata_time_ns", (json_int_t)a->metadata_ns));
}

static int write_interval(struct live_output *output, const struct live_interval *i)
{
	struct ndjson *n = (struct ndjson *)output;
	int ret = write_line(output, json_pack("{ss sI so so sI sI sb}", "type", "interval", "interval", (json_int_t)i->number,
					       "begin", seconds(i->begin_ns), "end", seconds(i->end_ns), "open_calls",
					       (json_int_t)i->open_calls, "lag_ns", (json_int_t)i->lag_ns, "last", i->last));

	if (!ret && fflush(n->out)) {
		ret = -errno;
		snprintf(output->err, sizeof(output->err), "cannot write the stream: %s", strerror(-ret));
	}
	return ret;
}

static int write_end(struct live_output *output, const struct live_end *end)
{
	return write_line(output, json_pack("{ss so sb sI sI so}", "type", "end", "time", seconds(end->end_ns), "complete",
					    end->complete, "records_lost", (json_int_t)end->records_lost, "records_after_bound",
					    (json_int_t)end->records_after_bound, "stopped_by", text(end->stopped_by)));
}

int live_ndjson_create(struct live_output **output, FILE *out)
{
	struct ndjson *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->output = (struct live_output){ .begin = write_begin,
					  .process = write_process,
					  .file = write_file,
					  .calls = write_calls,
					  .operations = write_operations,
					  .interval = write_interval,
					  .end = write_end };
	n->out = out;
	*output = &n->output;
	return 0;
}

void live_ndjson_destroy(struct live_output *output)
{
	free(output);
}
