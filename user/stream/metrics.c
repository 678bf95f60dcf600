/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counters grow with each interval; a text of them is made when the interval is whole, so that a scrape never sees half of one.
 */
#include "stream/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define MAX_MOUNTS 256 /* operations on others are summed as mount "others" */

struct layer_total {
	char name[32];
	struct summary_calls calls; /* longest_ns, open_calls: of the last interval */
	struct summary_counts counts;
	uint64_t skipped;
};
struct mount_total {
	char *mount; /* as a label's value */
	uint32_t layer;
	struct summary_counts counts;
};

struct metrics {
	struct live_output output; /* first: the public face */
	char *labels; /* job and node, for all */
	struct layer_total *layers;
	struct mount_total *mounts;
	size_t nlayers, nmounts;
	uint64_t lost, lag_ns, end_ns;
	bool ended;
	pthread_mutex_t mutex; /* of the text */
	char *text;
};

/* ---- sums ---- */

/* A label's value: printable, with quotes and backslashes escaped. */
static char *label_value(const char *text)
{
	char *printable = utf8_printable(text ? text : "unknown"), *value = printable ? malloc(2 * strlen(printable) + 1) : NULL,
	     *at = value;

	for (const char *c = printable; value && *c; c++) {
		if (*c == '"' || *c == '\\')
			*at++ = '\\';
		*at++ = *c;
	}
	if (value)
		*at = 0;
	free(printable);
	return value;
}

/* Its index; UINT32_MAX without memory. */
static uint32_t metrics_layer_of(struct metrics *m, const char *name)
{
	struct layer_total *grown;

	for (size_t i = 0; i < m->nlayers; i++)
		if (!strncmp(m->layers[i].name, name, sizeof(m->layers[i].name) - 1))
			return i;
	grown = reallocarray(m->layers, m->nlayers + 1, sizeof(*grown));
	if (!grown)
		return UINT32_MAX;
	m->layers = grown;
	grown[m->nlayers] = (struct layer_total){ 0 };
	snprintf(grown[m->nlayers].name, sizeof(grown->name), "%s", name);
	return m->nlayers++;
}

static struct mount_total *metrics_mount_of(struct metrics *m, uint32_t layer, const struct live_file *file)
{
	char *mount = label_value(m->nmounts >= MAX_MOUNTS ? "others" : file->special ? "pipes and sockets" : file->mount_point);
	struct mount_total *grown;

	for (size_t i = 0; i < m->nmounts && mount; i++)
		if (m->mounts[i].layer == layer && !strcmp(m->mounts[i].mount, mount)) {
			free(mount);
			return &m->mounts[i];
		}
	grown = mount ? reallocarray(m->mounts, m->nmounts + 1, sizeof(*grown)) : NULL;
	if (!grown) {
		free(mount);
		return NULL;
	}
	m->mounts = grown;
	grown[m->nmounts] = (struct mount_total){ .mount = mount, .layer = layer };
	return &grown[m->nmounts++];
}

static void metrics_add(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

static int metrics_on_begin(struct live_output *output, const struct live_job *job)
{
	struct metrics *m = (struct metrics *)output;
	char *node = label_value(job->host), *id = job->batch_job ? label_value(job->batch_job) : strdup("");
	int n = node && id ? asprintf(&m->labels, "jobid=\"%s\",node=\"%s\"", id, node) : -1;

	free(node);
	free(id);
	if (n < 0)
		m->labels = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static int metrics_on_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *c)
{
	struct metrics *m = (struct metrics *)output;
	uint32_t layer = metrics_layer_of(m, c->layer);

	(void)interval;
	if (layer == UINT32_MAX)
		return -ENOMEM;
	summary_calls_add(&m->layers[layer].calls, c->added);
	return 0;
}

static int metrics_on_operations(struct live_output *output, const struct live_interval *interval, const struct live_operations *o)
{
	struct metrics *m = (struct metrics *)output;
	uint32_t layer = metrics_layer_of(m, o->layer);
	struct mount_total *mount = layer == UINT32_MAX ? NULL : metrics_mount_of(m, layer, o->file);

	(void)interval;
	if (!mount)
		return -ENOMEM;
	metrics_add(&m->layers[layer].counts, &o->added->counts, sizeof(o->added->counts));
	metrics_add(&mount->counts, &o->added->counts, sizeof(o->added->counts));
	return 0;
}

static int metrics_on_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *s)
{
	struct metrics *m = (struct metrics *)output;
	uint32_t layer = metrics_layer_of(m, s->layer);

	(void)interval;
	if (layer == UINT32_MAX)
		return -ENOMEM;
	m->layers[layer].skipped += s->calls;
	return 0;
}

/* ---- the text ---- */

static void metrics_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP ioprobe_%s %s\n# TYPE ioprobe_%s %s\n", name, help, name, type);
}

static void by_layer(FILE *out, const struct metrics *m, const char *name, const char *type, const char *help, size_t offset,
		     double scale)
{
	metrics_head(out, name, type, help);
	for (size_t i = 0; i < m->nlayers; i++)
		fprintf(out, "ioprobe_%s{%s,layer=\"%s\"} %.15g\n", name, m->labels, m->layers[i].name,
			(double)(int64_t) * (const uint64_t *)((const char *)&m->layers[i] + offset) * scale);
}

static void by_class(FILE *out, const struct metrics *m)
{
	metrics_head(out, "class_calls_total", "counter", "Recorded calls by what they are for.");
	for (size_t i = 0; i < m->nlayers; i++)
		for (int class = 0; class < MODEL_CLASSES; class++)
			if (m->layers[i].calls.classes[class].calls)
				fprintf(out, "ioprobe_class_calls_total{%s,layer=\"%s\",class=\"%s\"} %llu\n", m->labels,
					m->layers[i].name, summary_class_name(class),
					(unsigned long long)m->layers[i].calls.classes[class].calls);
}

static void by_mount(FILE *out, const struct metrics *m, const char *name, const char *help, size_t read, size_t written)
{
	metrics_head(out, name, "counter", help);
	for (size_t i = 0; i < m->nmounts; i++) {
		const struct mount_total *t = &m->mounts[i];
		const size_t offsets[] = { read, written };

		for (int way = 0; way < 2; way++)
			fprintf(out, "ioprobe_%s{%s,layer=\"%s\",mount=\"%s\",direction=\"%s\"} %llu\n", name, m->labels,
				m->layers[t->layer].name, t->mount, way ? "write" : "read",
				*(const unsigned long long *)((const char *)&t->counts + offsets[way]));
	}
}

static void size_histogram(FILE *out, const struct metrics *m, const struct layer_total *l, bool write)
{
	const uint64_t *sizes = write ? l->calls.sizes.written : l->calls.sizes.read;
	uint64_t below = 0;

	for (int i = 0; i < SUMMARY_SIZES; i++) {
		char limit[24] = "+Inf";

		below += sizes[i];
		if (i < SUMMARY_SIZES - 1)
			snprintf(limit, sizeof(limit), "%llu", (unsigned long long)summary_size_limit(i));
		fprintf(out, "ioprobe_operation_size_bytes_bucket{%s,layer=\"%s\",direction=\"%s\",le=\"%s\"} %llu\n", m->labels,
			l->name, write ? "write" : "read", limit, (unsigned long long)below);
	}
	fprintf(out, "ioprobe_operation_size_bytes_sum{%s,layer=\"%s\",direction=\"%s\"} %llu\n", m->labels, l->name,
		write ? "write" : "read", (unsigned long long)(write ? l->counts.bytes_written : l->counts.bytes_read));
	fprintf(out, "ioprobe_operation_size_bytes_count{%s,layer=\"%s\",direction=\"%s\"} %llu\n", m->labels, l->name,
		write ? "write" : "read", (unsigned long long)below);
}

static void metrics_print(FILE *out, const struct metrics *m)
{
	by_layer(out, m, "calls_total", "counter", "Recorded calls.", offsetof(struct layer_total, calls.calls), 1);
	by_layer(out, m, "failed_calls_total", "counter", "Recorded calls that failed.", offsetof(struct layer_total, calls.failed),
		 1);
	by_layer(out, m, "call_seconds_total", "counter", "Time in calls, summed over threads; layers contain each other.",
		 offsetof(struct layer_total, calls.time_ns), 1e-9);
	by_layer(out, m, "skipped_calls_total", "counter", "Calls that filters skipped.", offsetof(struct layer_total, skipped), 1);
	by_layer(out, m, "open_calls", "gauge", "Calls that had begun and not ended.",
		 offsetof(struct layer_total, calls.open_calls), 1);
	by_layer(out, m, "longest_call_seconds", "gauge", "The longest call that ended in the last interval.",
		 offsetof(struct layer_total, calls.longest_ns), 1e-9);
	by_class(out, m);
	by_mount(out, m, "bytes_total", "Bytes moved, where known.", offsetof(struct summary_counts, bytes_read),
		 offsetof(struct summary_counts, bytes_written));
	by_mount(out, m, "operations_total", "Reads and writes that began.", offsetof(struct summary_counts, reads),
		 offsetof(struct summary_counts, writes));
	by_mount(out, m, "operations_of_unknown_size_total", "Reads and writes whose bytes are not known.",
		 offsetof(struct summary_counts, unknown_reads), offsetof(struct summary_counts, unknown_writes));
	metrics_head(out, "operation_size_bytes", "histogram", "Reads and writes of known size.");
	for (size_t i = 0; i < m->nlayers; i++)
		for (int write = 0; write < 2; write++)
			size_histogram(out, m, &m->layers[i], write);
	metrics_head(out, "lost_records_total", "counter", "Records lost, as far as it was noticed.");
	fprintf(out, "ioprobe_lost_records_total{%s} %llu\n", m->labels, (unsigned long long)m->lost);
	metrics_head(out, "stream_lag_seconds", "gauge", "From the end of the last interval until it was written.");
	fprintf(out, "ioprobe_stream_lag_seconds{%s} %.9g\n", m->labels, m->lag_ns / 1e9);
	metrics_head(out, "stream_interval_end_seconds", "gauge", "The end of the last interval, in seconds since 1970.");
	fprintf(out, "ioprobe_stream_interval_end_seconds{%s} %.15g\n", m->labels, m->end_ns / 1e9);
	metrics_head(out, "recording_ended", "gauge", "1: the recording has ended, nothing changes any more.");
	fprintf(out, "ioprobe_recording_ended{%s} %d\n", m->labels, m->ended);
}

static int metrics_publish(struct metrics *m)
{
	char *text = NULL, *old;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return -ENOMEM;
	metrics_print(out, m);
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	pthread_mutex_lock(&m->mutex);
	old = m->text;
	m->text = text;
	pthread_mutex_unlock(&m->mutex);
	free(old);
	return 0;
}

static int metrics_on_interval(struct live_output *output, const struct live_interval *i)
{
	struct metrics *m = (struct metrics *)output;
	int ret;

	m->lost += i->records_lost;
	m->lag_ns = i->lag_ns;
	m->end_ns = i->end_ns;
	ret = metrics_publish(m);
	for (size_t k = 0; k < m->nlayers; k++)
		m->layers[k].calls.longest_ns = m->layers[k].calls.open_calls = 0;
	return ret;
}

static int metrics_on_end(struct live_output *output, const struct live_end *end)
{
	(void)end;
	((struct metrics *)output)->ended = true;
	return metrics_publish((struct metrics *)output);
}

/* ---- life ---- */

char *metrics_text(struct metrics *m)
{
	char *text;

	pthread_mutex_lock(&m->mutex);
	text = strdup(m->text ? m->text : "");
	pthread_mutex_unlock(&m->mutex);
	return text;
}

static void destroy_output(struct live_output *output)
{
	metrics_destroy((struct metrics *)output);
}

int metrics_create(struct metrics **metrics, struct live_output **output)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->output = (struct live_output){ .begin = metrics_on_begin,
					  .calls = metrics_on_calls,
					  .operations = metrics_on_operations,
					  .skipped = metrics_on_skipped,
					  .interval = metrics_on_interval,
					  .end = metrics_on_end,
					  .destroy = destroy_output };
	pthread_mutex_init(&m->mutex, NULL);
	*metrics = m;
	*output = &m->output;
	return 0;
}

void metrics_destroy(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nmounts; i++)
		free(m->mounts[i].mount);
	free(m->mounts);
	free(m->layers);
	free(m->labels);
	free(m->text);
	pthread_mutex_destroy(&m->mutex);
	free(m);
}
