/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines of JSON. Fields are only added, never removed; the first line contains the version.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/json_text.h"

#define STREAM_FORMAT "ioprobe stream 1"

struct ndjson {
	struct live_output output;
	FILE *out;
	const struct live_lines *to; /* receiver of an interval's lines; NULL: out is a file */
	void *arg;
	char *text; /* of out, with to */
	size_t len;
}; /* output must be first: the public interface */

/* Hands over the lines so far. */
static int ndjson_hand_over(struct live_output *output, enum live_lines_kind kind, const struct live_interval *interval)
{
	struct ndjson *n = (struct ndjson *)output;
	char *text;

	if (!n->to)
		return 0;
	fclose(n->out);
	text = n->text;
	n->out = open_memstream(&n->text, &n->len);
	if (!n->out) {
		free(text);
		return -ENOMEM;
	}
	return n->to->lines(n->arg, kind, interval, text, strlen(text));
}

/* Seconds with nine digits: a double is too imprecise for nanoseconds since 1970. */
static json_t *ndjson_seconds(uint64_t ns)
{
	return json_sprintf("%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static int ndjson_write_line(struct live_output *output, json_t *line)
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

static int ndjson_write_begin(struct live_output *output, const struct live_job *job)
{
	return ndjson_write_line(output,
				 json_pack("{ss ss so so so so so so sI sI}", "type", "begin", "format", STREAM_FORMAT, "host",
					   json_text(job->host), "kernel", json_text(job->kernel), "version",
					   json_text(job->version), "batch_job", json_text(job->batch_job), "command_line",
					   json_text(job->command_line), "time", ndjson_seconds(job->begin_ns), "interval_ns",
					   (json_int_t)job->interval_ns, "recording", (json_int_t)job->recording))
		       ?: ndjson_hand_over(output, LIVE_LINES_BEGIN, NULL);
}

static int write_process(struct live_output *output, const struct live_process *p)
{
	return ndjson_write_line(output,
				 json_pack("{ss sI sI so so so so so}", "type", "process", "process", (json_int_t)p->id, "pid",
					   (json_int_t)p->pid, "rank", p->rank >= 0 ? json_integer(p->rank) : json_null(), "name",
					   json_text(p->name), "executable", json_text(p->executable), "uid",
					   p->uid >= 0 ? json_integer(p->uid) : json_null(), "begin",
					   p->begin_ns ? ndjson_seconds(p->begin_ns) : json_null()));
}

static int ndjson_write_file(struct live_output *output, const struct live_file *f)
{
	return ndjson_write_line(output, json_pack("{ss sI so so so so so sb}", "type", "file", "file", (json_int_t)f->id, "path",
						   json_text(f->path), "mount_point", json_text(f->mount_point), "mount_source",
						   json_text(f->mount_source), "file_system", json_text(f->fs_type), "scope",
						   json_text(f->scope), "special", f->special));
}

static json_t *ndjson_sizes_json(const uint64_t *sizes)
{
	json_t *array = json_array();

	for (int i = 0; i < SUMMARY_SIZES; i++)
		json_array_append_new(array, json_integer((json_int_t)sizes[i]));
	return array;
}

static bool ndjson_any_size(const uint64_t *sizes)
{
	for (int i = 0; i < SUMMARY_SIZES; i++)
		if (sizes[i])
			return true;
	return false;
}

/* Only classes with calls or time; sizes: of operations on a file, NULL: none. */
static json_t *ndjson_classes_json(const struct summary_class *classes, const struct summary_sizes *sizes)
{
	json_t *object = json_object();

	for (int i = 0; i < MODEL_CLASSES; i++) {
		const struct summary_class *c = &classes[i];
		const uint64_t *list = !sizes || i > MODEL_CLASS_WRITE ? NULL
				       : i == MODEL_CLASS_READ         ? sizes->read
								       : sizes->written;

		if (!c->calls && !c->time_ns && !(list && ndjson_any_size(list)))
			continue;
		json_object_set_new(object, summary_class_name(i),
				    json_pack("{sI sI sI sI so*}", "calls", (json_int_t)c->calls, "failed", (json_int_t)c->failed,
					      "time_ns", (json_int_t)c->time_ns, "longest_call_ns", (json_int_t)c->longest_ns,
					      "sizes", list && ndjson_any_size(list) ? ndjson_sizes_json(list) : NULL));
	}
	return object;
}

static int ndjson_write_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	const struct summary_calls *a = c->added;

	(void)interval;
	return ndjson_write_line(
		output, json_pack("{ss sI sI ss sI sI sI sI sI sI so so so}", "type", "calls", "interval", (json_int_t)c->interval,
				  "process", (json_int_t)c->process->id, "layer", c->layer, "calls", (json_int_t)a->calls, "failed",
				  (json_int_t)a->failed, "time_ns", (json_int_t)a->time_ns, "system_time_ns",
				  (json_int_t)a->system_ns, "longest_call_ns", (json_int_t)a->longest_ns, "open_calls",
				  (json_int_t)a->open_calls, "read_sizes", ndjson_sizes_json(a->sizes.read), "write_sizes",
				  ndjson_sizes_json(a->sizes.written), "classes", ndjson_classes_json(a->classes, NULL)));
}

static int write_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	const struct summary_counts *a = &o->added->counts;

	(void)interval;
	return ndjson_write_line(
		output,
		json_pack("{ss sI sI sI ss sI sI sI sI sI sI sI sI sI sI sI sI sI sI so}", "type", "operations", "interval",
			  (json_int_t)o->interval, "process", (json_int_t)o->process->id, "file", (json_int_t)o->file->id, "layer",
			  o->layer, "reads", (json_int_t)a->reads, "writes", (json_int_t)a->writes, "bytes_read",
			  (json_int_t)a->bytes_read, "bytes_written", (json_int_t)a->bytes_written, "reads_of_known_size",
			  (json_int_t)a->known_reads, "writes_of_known_size", (json_int_t)a->known_writes, "reads_of_unknown_size",
			  (json_int_t)a->unknown_reads, "writes_of_unknown_size", (json_int_t)a->unknown_writes, "reads_failed",
			  (json_int_t)a->failed_reads, "writes_failed", (json_int_t)a->failed_writes, "opens", (json_int_t)a->opens,
			  "time_ns", (json_int_t)a->time_ns, "metadata_time_ns", (json_int_t)a->metadata_ns, "longest_call_ns",
			  (json_int_t)o->added->longest_ns, "classes", ndjson_classes_json(o->added->classes, &o->added->sizes)));
}

static json_t *ndjson_known(uint64_t value, uint64_t unknown)
{
	return value == unknown ? json_null() : json_integer((json_int_t)value);
}

/* For a store that is made of the lines; the number is text: it has 64 bits and no sign. */
static json_t *darshan_json(const struct ndjson *n, const struct live_darshan *d)
{
	if (!n->to || !d->module)
		return NULL;
	return json_pack("{ss so so sI sI sI sI sI}", "module", d->module, "record", json_text(d->record), "record_id",
			 json_sprintf("%llu", (unsigned long long)d->record_id), "max_byte", (json_int_t)d->max_byte, "switches",
			 (json_int_t)d->switches, "flushes", (json_int_t)d->flushes, "cnt", (json_int_t)d->cnt, "total_ns",
			 (json_int_t)d->total_ns);
}

static int ndjson_write_event(struct live_output *output, const struct live_interval *interval, const struct live_event *e)
{
	return ndjson_write_line(
		output, json_pack("{ss sI sI sI ss ss ss so so so so so so sI sb so sI so*}", "type", "event", "interval",
				  (json_int_t)interval->number, "process", (json_int_t)e->process->id, "tid", (json_int_t)e->tid,
				  "layer", e->layer, "call", e->call, "op", live_op_name(e->op), "file",
				  e->file ? json_integer(e->file->id) : json_null(), "name", json_text(e->name), "offset",
				  ndjson_known(e->offset, OFFSET_UNKNOWN), "asked", ndjson_known(e->asked, BYTES_UNKNOWN), "moved",
				  ndjson_known(e->moved, BYTES_UNKNOWN), "begin", ndjson_seconds(e->begin_ns), "duration_ns",
				  (json_int_t)(e->end_ns - e->begin_ns), "failed", e->failed, "error",
				  e->error ? json_integer(e->error) : json_null(), "weight", (json_int_t)e->weight, "darshan",
				  darshan_json((struct ndjson *)output, &e->darshan)));
}

static int write_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *s)
{
	return ndjson_write_line(output, json_pack("{ss sI so so so sI sI sI sI sI}", "type", "skipped", "interval",
						   (json_int_t)interval->number, "process",
						   s->process ? json_integer(s->process->id) : json_null(), "filter",
						   json_text(s->filter), "layer", json_text(s->layer), "calls",
						   (json_int_t)s->calls, "bytes_read", (json_int_t)s->bytes_read,
						   "bytes_written", (json_int_t)s->bytes_written, "calls_of_unknown_size",
						   (json_int_t)s->calls_of_unknown_size, "time_ns", (json_int_t)s->time_ns));
}

static int ndjson_write_gap(struct live_output *output, const struct live_interval *interval, const struct live_gap *g)
{
	return ndjson_write_line(output,
				 json_pack("{ss sI sI so so so so}", "type", "gap", "interval", (json_int_t)interval->number, "pid",
					   (json_int_t)g->pid, "layer", json_text(g->layer), "begin", ndjson_seconds(g->begin_ns),
					   "end", ndjson_seconds(g->end_ns), "reason", json_text(g->reason)));
}

static int write_clock_step(struct live_output *output, const struct live_interval *interval, const struct live_clock_step *s)
{
	return ndjson_write_line(output, json_pack("{ss sI so sI sI}", "type", "clock_step", "interval",
						   (json_int_t)interval->number, "time", ndjson_seconds(s->time_ns), "step_ns",
						   (json_int_t)s->step_ns, "uncertain_ns", (json_int_t)s->uncertain_ns));
}

static int write_interval(struct live_output *output, const struct live_interval *i)
{
	struct ndjson *n = (struct ndjson *)output;
	int ret = ndjson_write_line(output,
				    json_pack("{ss sI so so sI sI sI sb}", "type", "interval", "interval", (json_int_t)i->number,
					      "begin", ndjson_seconds(i->begin_ns), "end", ndjson_seconds(i->end_ns), "open_calls",
					      (json_int_t)i->open_calls, "records_lost", (json_int_t)i->records_lost, "lag_ns",
					      (json_int_t)i->lag_ns, "last", i->last));

	if (!ret && fflush(n->out)) {
		ret = -errno;
		snprintf(output->err, sizeof(output->err), "cannot write the stream: %s", strerror(-ret));
	}
	return ret ? ret : ndjson_hand_over(output, LIVE_LINES_INTERVAL, i);
}

static int write_end(struct live_output *output, const struct live_end *end)
{
	return ndjson_write_line(output,
				 json_pack("{ss so sb sI sI so}", "type", "end", "time", ndjson_seconds(end->end_ns), "complete",
					   end->complete, "records_lost", (json_int_t)end->records_lost, "records_after_bound",
					   (json_int_t)end->records_after_bound, "stopped_by", json_text(end->stopped_by)))
		       ?: ndjson_hand_over(output, LIVE_LINES_END, NULL);
}

static void ndjson_destroy(struct live_output *output)
{
	struct ndjson *n = (struct ndjson *)output;

	live_output_close(n->out);
	if (n->to) {
		free(n->text);
		n->to->destroy(n->arg);
	}
	free(n);
}

static void set_functions(struct ndjson *n)
{
	n->output = (struct live_output){ .begin = ndjson_write_begin,
					  .process = write_process,
					  .file = ndjson_write_file,
					  .calls = ndjson_write_calls,
					  .operations = write_operations,
					  .event = ndjson_write_event,
					  .skipped = write_skipped,
					  .gap = ndjson_write_gap,
					  .clock_step = write_clock_step,
					  .interval = write_interval,
					  .end = write_end,
					  .destroy = ndjson_destroy };
}

static int ndjson_create(struct live_output **output, const char *where, char *err, size_t err_len)
{
	struct ndjson *n = calloc(1, sizeof(*n));
	int ret = n ? live_output_open(&n->out, where, err, err_len) : -ENOMEM;

	if (ret) {
		free(n);
		return ret;
	}
	set_functions(n);
	*output = &n->output;
	return 0;
}

/* One JSON object per line. Flushed after each interval. */
const struct live_output_kind live_ndjson_kind = {
	.name = "ndjson", .where = "an absolute path or unix:/PATH", .default_where = "-",
	.where_kind = WHERE_TEXT, .create = ndjson_create,
};

int live_lines_create(struct live_output **output, const struct live_lines *to, void *arg)
{
	struct ndjson *n = calloc(1, sizeof(*n));

	if (n)
		n->out = open_memstream(&n->text, &n->len);
	if (!n || !n->out) {
		free(n);
		return -ENOMEM;
	}
	set_functions(n);
	n->to = to;
	n->arg = arg;
	*output = &n->output;
	return 0;
}
