/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts an interval to what a page shows, and keeps the text of the last intervals.
 */
#include "view/history.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/sums.h"
#include "util/utf8.h"

/* Of the recording so far. */
struct total {
	struct summary_calls calls;
	uint64_t bytes_read, bytes_written;
};

struct history {
	struct live_output output; /* first member: the public interface */
	struct sums sums;
	struct total *totals; /* as sums.layers */
	size_t ntotals;
	pthread_mutex_t mutex; /* protects all members below */
	pthread_cond_t more;
	char *begin, *texts[HISTORY_INTERVALS];
	uint64_t n; /* number of texts so far: number k is in texts[k % HISTORY_INTERVALS], except 0, which is begin */
};

/* Takes ownership of the object. */
static int history_publish(struct history *h, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	char **at;

	json_decref(object);
	if (!text)
		return -ENOMEM;
	pthread_mutex_lock(&h->mutex);
	at = h->n ? &h->texts[h->n % HISTORY_INTERVALS] : &h->begin;
	free(*at);
	*at = text;
	h->n++;
	pthread_cond_broadcast(&h->more);
	pthread_mutex_unlock(&h->mutex);
	return 0;
}

/* ---- what is reported ---- */

static int history_on_begin(struct live_output *output, const struct live_job *job)
{
	char *host = utf8_printable(job->host ?: "(unknown)"), *command = utf8_printable(job->command_line ?: ""),
	     *batch = utf8_printable(job->batch_job ?: "");
	json_t *o = json_pack("{ss ss* ss* ss* sf sf}", "type", "begin", "host", host, "command_line", command, "batch_job", batch,
			      "begin", job->begin_ns / 1e9, "interval", job->interval_ns / 1e9);

	free(host), free(command), free(batch);
	return history_publish((struct history *)output, o);
}

static int history_on_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	return sums_add_calls(&((struct history *)output)->sums, interval, c);
}

static int history_on_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	return sums_add_operations(&((struct history *)output)->sums, interval, o);
}

static int on_gap(struct live_output *output, const struct live_interval *interval, const struct live_gap *gap)
{
	(void)interval;
	sums_add_gap(&((struct history *)output)->sums, gap);
	return 0;
}

static int history_on_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *skipped)
{
	(void)interval;
	sums_add_skipped(&((struct history *)output)->sums, skipped);
	return 0;
}

static int on_clock_step(struct live_output *output, const struct live_interval *interval, const struct live_clock_step *step)
{
	(void)interval, (void)step;
	sums_add_clock_step(&((struct history *)output)->sums);
	return 0;
}

/* ---- an interval ---- */

/* Calls by class, as far as there are any. */
static json_t *history_classes_json(const struct summary_class *classes)
{
	json_t *object = json_object();

	for (int i = 0; i < MODEL_CLASSES; i++)
		if (classes[i].calls)
			json_object_set_new(object, summary_class_name(i), json_integer((json_int_t)classes[i].calls));
	return object;
}

static json_t *numbers_json(const uint64_t *v, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_integer((json_int_t)v[i]));
	return array;
}

static json_t *history_layers_json(const struct history *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->sums.nlayers; i++) {
		const struct sums_layer *l = &h->sums.layers[i];

		json_array_append_new(
			array, json_pack("{ss sI sI sI sI sI sf sf sI so}", "name", l->name, "calls", (json_int_t)l->calls.calls,
					 "failed", (json_int_t)l->calls.failed, "read", (json_int_t)l->counts.bytes_read, "written",
					 (json_int_t)l->counts.bytes_written, "unknown",
					 (json_int_t)l->counts.unknown_reads + (json_int_t)l->counts.unknown_writes, "time",
					 (int64_t)l->calls.time_ns / 1e9, "longest", l->calls.longest_ns / 1e9, "open",
					 (json_int_t)l->calls.open_calls, "classes", history_classes_json(l->calls.classes)));
	}
	return array;
}

static int history_add_totals(struct history *h)
{
	struct total *grown = reallocarray(h->totals, h->sums.nlayers + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	h->totals = grown;
	for (; h->ntotals < h->sums.nlayers; h->ntotals++)
		grown[h->ntotals] = (struct total){ 0 };
	for (size_t i = 0; i < h->ntotals; i++) {
		const struct sums_layer *l = &h->sums.layers[i];

		summary_calls_add(&grown[i].calls, &l->calls);
		grown[i].bytes_read += l->counts.bytes_read;
		grown[i].bytes_written += l->counts.bytes_written;
	}
	for (size_t i = 0; i < h->sums.nearlier; i++)
		grown[h->sums.earlier[i].layer].calls.time_ns += h->sums.earlier[i].time_ns;
	return 0;
}

static json_t *totals_json(const struct history *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->ntotals; i++) {
		const struct total *t = &h->totals[i];

		json_array_append_new(array, json_pack("{ss sI sI sI sI sI so so so}", "name", h->sums.layers[i].name, "calls",
						       (json_int_t)t->calls.calls, "failed", (json_int_t)t->calls.failed, "time_ns",
						       (json_int_t)t->calls.time_ns, "read", (json_int_t)t->bytes_read, "written",
						       (json_int_t)t->bytes_written, "read_sizes",
						       numbers_json(t->calls.sizes.read, SUMMARY_SIZES), "write_sizes",
						       numbers_json(t->calls.sizes.written, SUMMARY_SIZES), "classes",
						       history_classes_json(t->calls.classes)));
	}
	return array;
}

/* The last one may be the sum of all beyond the limit, id -1. */
static json_t *processes_json(const struct history *h)
{
	size_t n;
	const struct sums_process **v = sums_processes(&h->sums, HISTORY_PROCESSES, &n);
	json_t *array = json_array();

	for (size_t i = 0; i < n && v && v[i]->time_ns; i++)
		json_array_append_new(
			array, json_pack("[IIsf]", (json_int_t)v[i]->id, (json_int_t)v[i]->rank, v[i]->name, v[i]->time_ns / 1e9));
	if (h->sums.other_processes)
		json_array_append_new(array, json_pack("[IIsf]", (json_int_t)-1, (json_int_t)-1, "others",
						       sums_other_process_ns(&h->sums) / 1e9));
	free(v);
	return array;
}

static json_t *history_file_json(const struct history *h, const char *path, uint32_t layer, const struct summary_counts *counts)
{
	return json_pack("[ssIIf]", path, h->sums.layers[layer].name, (json_int_t)counts->bytes_read,
			 (json_int_t)counts->bytes_written, counts->time_ns / 1e9);
}

static json_t *files_json(const struct history *h)
{
	size_t n;
	const struct sums_file **v = sums_files(&h->sums, HISTORY_FILES, &n);
	uint32_t others = sums_other_files_layer(&h->sums);
	json_t *array = json_array();

	for (size_t i = 0; i < n && v; i++) {
		uint32_t layer = sums_file_layer(v[i]);

		json_array_append_new(array, history_file_json(h, v[i]->path, layer, &v[i]->by_layer[layer]));
	}
	if (others != UINT32_MAX)
		json_array_append_new(array, history_file_json(h, "others", others, &h->sums.other_files_by_layer[others]));
	free(v);
	return array;
}

/* Of each mount point the layer with most time. */
static json_t *mounts_json(const struct history *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->sums.nmounts; i++) {
		const struct sums_mount *m = &h->sums.mounts[i];
		uint32_t layer = sums_mount_layer(m);

		if (layer != UINT32_MAX)
			json_array_append_new(array,
					      json_pack("[ssIIIf]", m->name, h->sums.layers[layer].name,
							(json_int_t)m->by_layer[layer].bytes_read,
							(json_int_t)m->by_layer[layer].bytes_written,
							(json_int_t)m->metadata_calls[layer], m->by_layer[layer].time_ns / 1e9));
	}
	return array;
}

/* What was not observed. */
static json_t *health_json(const struct history *h)
{
	return json_pack("{sI sf sI sI}", "gaps", (json_int_t)h->sums.gaps, "gap_time", h->sums.gap_ns / 1e9, "skipped",
			 (json_int_t)h->sums.skipped, "clock_steps", (json_int_t)h->sums.clock_steps);
}

/* Seconds to be added to earlier intervals. */
static json_t *earlier_json(const struct history *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->sums.nearlier; i++) {
		const struct sums_earlier *e = &h->sums.earlier[i];

		json_array_append_new(array, json_pack("[Isf]", (json_int_t)e->interval, h->sums.layers[e->layer].name,
						       e->time_ns / 1e9));
	}
	return array;
}

static int history_on_interval(struct live_output *output, const struct live_interval *i)
{
	struct history *h = (struct history *)output;
	json_t *o = history_add_totals(h) ? NULL
					  : json_pack("{ss sI sf sI sI sf so so so so so so so}", "type", "interval", "number",
						      (json_int_t)i->number, "begin", i->begin_ns / 1e9, "open_calls",
						      (json_int_t)i->open_calls, "lost", (json_int_t)i->records_lost, "lag",
						      i->lag_ns / 1e9, "layers", history_layers_json(h), "totals", totals_json(h),
						      "processes", processes_json(h), "files", files_json(h), "mounts",
						      mounts_json(h), "health", health_json(h), "earlier", earlier_json(h));

	sums_clear(&h->sums);
	return history_publish(h, o);
}

static int history_on_end(struct live_output *output, const struct live_end *end)
{
	return history_publish((struct history *)output,
			       json_pack("{ss sf sb sI ss*}", "type", "end", "time", end->end_ns / 1e9, "complete", end->complete,
					 "lost", (json_int_t)end->records_lost, "stopped_by", end->stopped_by));
}

/* ---- for readers ---- */

static char *history_copy_of(struct history *h, uint64_t *number)
{
	uint64_t oldest = h->n > HISTORY_INTERVALS ? h->n - HISTORY_INTERVALS : 1;

	if (*number && *number < oldest)
		*number = oldest;
	return *number >= h->n ? NULL : strdup(*number ? h->texts[*number % HISTORY_INTERVALS] : h->begin);
}

char *history_next(struct history *h, uint64_t *number, unsigned wait_ms)
{
	struct timespec until;
	char *text;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += wait_ms % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&h->mutex);
	while (*number >= h->n && !pthread_cond_timedwait(&h->more, &h->mutex, &until))
		;
	text = history_copy_of(h, number);
	pthread_mutex_unlock(&h->mutex);
	return text;
}

int history_create(struct history **history, struct live_output **output)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->output = (struct live_output){ .begin = history_on_begin,
					  .calls = history_on_calls,
					  .operations = history_on_operations,
					  .gap = on_gap,
					  .skipped = history_on_skipped,
					  .clock_step = on_clock_step,
					  .interval = history_on_interval,
					  .end = history_on_end };
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->more, NULL);
	*history = h;
	*output = &h->output;
	return 0;
}

void history_destroy(struct history *h)
{
	if (!h)
		return;
	sums_deinit(&h->sums);
	free(h->totals);
	for (size_t i = 0; i < HISTORY_INTERVALS; i++)
		free(h->texts[i]);
	free(h->begin);
	pthread_cond_destroy(&h->more);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}
