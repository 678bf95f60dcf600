/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Adds an interval up to what a page shows of it, and keeps the text of the last ones.
 */
#include "view/history.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/hash.h"
#include "util/utf8.h"

struct layer_sum {
	char name[32];
	struct summary_calls calls;
	struct summary_counts counts;
};
/* Definitions stay, numbers are of one interval. */
struct process_sum {
	uint32_t id;
	int64_t rank;
	char *name;
	uint64_t time_ns;
	UT_hash_handle hh;
};
struct file_sum {
	uint32_t id;
	char *path;
	bool special;
	struct summary_counts counts;
	char layer[32];
	UT_hash_handle hh;
};

struct history {
	struct live_output output; /* first: the public face */
	struct layer_sum *layers;
	size_t nlayers;
	struct process_sum *processes;
	struct file_sum *files;
	pthread_mutex_t mutex; /* of all that follows */
	pthread_cond_t more;
	char *begin, *texts[HISTORY_INTERVALS];
	uint64_t n; /* texts that were made: number k is in texts[k % HISTORY_INTERVALS], but 0 is begin */
};

static int set_text(char **text, const char *value)
{
	char *copy = utf8_printable(value ? value : "(unknown)");

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* Takes the object. */
static int publish(struct history *h, json_t *object)
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

static int on_begin(struct live_output *output, const struct live_job *job)
{
	char *host = utf8_printable(job->host ?: "(unknown)"), *command = utf8_printable(job->command_line ?: ""),
	     *batch = utf8_printable(job->batch_job ?: "");
	json_t *o = json_pack("{ss ss* ss* ss* sf sf}", "type", "begin", "host", host, "command_line", command, "batch_job", batch,
			      "begin", job->begin_ns / 1e9, "interval", job->interval_ns / 1e9);

	free(host), free(command), free(batch);
	return publish((struct history *)output, o);
}

static struct process_sum *process_of(struct history *h, uint32_t id)
{
	struct process_sum *p;

	HASH_FIND(hh, h->processes, &id, sizeof(id), p);
	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	p->id = id;
	HASH_ADD(hh, h->processes, id, sizeof(p->id), p);
	if (hash_added(p))
		return p;
	free(p);
	return NULL;
}

static struct file_sum *file_of(struct history *h, uint32_t id)
{
	struct file_sum *f;

	HASH_FIND(hh, h->files, &id, sizeof(id), f);
	if (f || !(f = calloc(1, sizeof(*f))))
		return f;
	f->id = id;
	HASH_ADD(hh, h->files, id, sizeof(f->id), f);
	if (hash_added(f))
		return f;
	free(f);
	return NULL;
}

static int on_process(struct live_output *output, const struct live_process *process)
{
	struct process_sum *p = process_of((struct history *)output, process->id);

	if (p)
		p->rank = process->rank;
	return p ? set_text(&p->name, process->name) : -ENOMEM;
}

static int on_file(struct live_output *output, const struct live_file *file)
{
	struct file_sum *f = file_of((struct history *)output, file->id);

	if (f)
		f->special = file->special;
	return f ? set_text(&f->path, file->path) : -ENOMEM;
}

static struct layer_sum *layer_of(struct history *h, const char *name)
{
	struct layer_sum *grown;

	for (size_t i = 0; i < h->nlayers; i++)
		if (!strncmp(h->layers[i].name, name, sizeof(h->layers[i].name) - 1))
			return &h->layers[i];
	grown = reallocarray(h->layers, h->nlayers + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	h->layers = grown;
	grown[h->nlayers] = (struct layer_sum){ 0 };
	snprintf(grown[h->nlayers].name, sizeof(grown->name), "%s", name);
	return &grown[h->nlayers++];
}

/* Layers contain each other: a process' time is that of the layer with most. */
static int on_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	struct history *h = (struct history *)output;
	struct layer_sum *layer = layer_of(h, c->layer);
	struct process_sum *p = process_of(h, c->process);

	(void)interval;
	if (!p || !layer)
		return -ENOMEM;
	layer->calls.calls += c->added->calls;
	layer->calls.failed += c->added->failed;
	layer->calls.time_ns += c->added->time_ns;
	if (c->added->time_ns > p->time_ns)
		p->time_ns = c->added->time_ns;
	return 0;
}

static int on_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	struct history *h = (struct history *)output;
	struct layer_sum *layer = layer_of(h, o->layer);
	struct file_sum *f = file_of(h, o->file);

	(void)interval;
	if (!f || !layer)
		return -ENOMEM;
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)&layer->counts)[i] += ((const uint64_t *)o->added)[i];
	if (o->added->time_ns >= f->counts.time_ns) {
		f->counts = *o->added;
		snprintf(f->layer, sizeof(f->layer), "%s", o->layer);
	}
	return 0;
}

/* ---- an interval ---- */

static json_t *layers_json(const struct history *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->nlayers; i++) {
		const struct layer_sum *l = &h->layers[i];

		json_array_append_new(array,
				      json_pack("{ss sI sI sI sI sI sf}", "name", l->name, "calls", (json_int_t)l->calls.calls,
						"failed", (json_int_t)l->calls.failed, "read", (json_int_t)l->counts.bytes_read,
						"written", (json_int_t)l->counts.bytes_written, "unknown",
						(json_int_t)(l->counts.unknown_reads + l->counts.unknown_writes), "time",
						l->calls.time_ns / 1e9));
	}
	return array;
}

static int longest_process(const void *a, const void *b)
{
	const struct process_sum *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : 0;
}

static int longest_file(const void *a, const void *b)
{
	const struct file_sum *x = *(void *const *)a, *y = *(void *const *)b;

	return x->counts.time_ns < y->counts.time_ns ? 1 : x->counts.time_ns > y->counts.time_ns ? -1 : 0;
}

static json_t *processes_json(const struct history *h)
{
	const struct process_sum **v = calloc(HASH_COUNT(h->processes) + 1, sizeof(*v));
	json_t *array = v ? json_array() : NULL;
	size_t n = 0;

	for (const struct process_sum *p = h->processes; p && v; p = p->hh.next)
		if (p->time_ns)
			v[n++] = p;
	if (v)
		qsort(v, n, sizeof(*v), longest_process);
	for (size_t i = 0; i < n && i < HISTORY_PROCESSES; i++)
		json_array_append_new(array, json_pack("[IIsf]", (json_int_t)v[i]->id, (json_int_t)v[i]->rank,
						       v[i]->name ?: "(unknown)", v[i]->time_ns / 1e9));
	free(v);
	return array;
}

static json_t *files_json(const struct history *h)
{
	const struct file_sum **v = calloc(HASH_COUNT(h->files) + 1, sizeof(*v));
	json_t *array = v ? json_array() : NULL;
	size_t n = 0;

	for (const struct file_sum *f = h->files; f && v; f = f->hh.next)
		if (!f->special && (f->counts.time_ns || f->counts.reads || f->counts.writes))
			v[n++] = f;
	if (v)
		qsort(v, n, sizeof(*v), longest_file);
	for (size_t i = 0; i < n && i < HISTORY_FILES; i++)
		json_array_append_new(array, json_pack("[ssIIf]", v[i]->path ?: "(unknown)", v[i]->layer,
						       (json_int_t)v[i]->counts.bytes_read, (json_int_t)v[i]->counts.bytes_written,
						       v[i]->counts.time_ns / 1e9));
	free(v);
	return array;
}

static void clear_interval(struct history *h)
{
	for (size_t i = 0; i < h->nlayers; i++)
		h->layers[i].calls = (struct summary_calls){ 0 }, h->layers[i].counts = (struct summary_counts){ 0 };
	for (struct process_sum *p = h->processes; p; p = p->hh.next)
		p->time_ns = 0;
	for (struct file_sum *f = h->files; f; f = f->hh.next)
		f->counts = (struct summary_counts){ 0 };
}

static int on_interval(struct live_output *output, const struct live_interval *i)
{
	struct history *h = (struct history *)output;
	json_t *o = json_pack("{ss sf sI sf so so so}", "type", "interval", "begin", i->begin_ns / 1e9, "open_calls",
			      (json_int_t)i->open_calls, "lag", i->lag_ns / 1e9, "layers", layers_json(h), "processes",
			      processes_json(h), "files", files_json(h));

	clear_interval(h);
	return publish(h, o);
}

static int on_end(struct live_output *output, const struct live_end *end)
{
	return publish((struct history *)output,
		       json_pack("{ss sf sb sI ss*}", "type", "end", "time", end->end_ns / 1e9, "complete", end->complete, "lost",
				 (json_int_t)end->records_lost, "stopped_by", end->stopped_by));
}

/* ---- for readers ---- */

static char *copy_of(struct history *h, uint64_t *number)
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
	text = copy_of(h, number);
	pthread_mutex_unlock(&h->mutex);
	return text;
}

int history_create(struct history **history, struct live_output **output)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->output = (struct live_output){ .begin = on_begin,
					  .process = on_process,
					  .file = on_file,
					  .calls = on_calls,
					  .operations = on_operations,
					  .interval = on_interval,
					  .end = on_end };
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->more, NULL);
	*history = h;
	*output = &h->output;
	return 0;
}

void history_destroy(struct history *h)
{
	struct process_sum *p, *next_process;
	struct file_sum *f, *next_file;

	if (!h)
		return;
	HASH_ITER(hh, h->processes, p, next_process) {
		HASH_DEL(h->processes, p);
		free(p->name);
		free(p);
	}
	HASH_ITER(hh, h->files, f, next_file) {
		HASH_DEL(h->files, f);
		free(f->path);
		free(f);
	}
	for (size_t i = 0; i < HISTORY_INTERVALS; i++)
		free(h->texts[i]);
	free(h->begin);
	free(h->layers);
	pthread_cond_destroy(&h->more);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}
