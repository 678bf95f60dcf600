/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The metrics as a file for the textfile collector of Prometheus' node_exporter: a whole one takes the place of the one before.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "stream/metrics.h"
#include "util/replace.h"

struct textfile {
	struct live_output output; /* first: the public face */
	struct metrics *metrics;
	struct live_output *counter;
	char name[4096];
};

static int textfile_fail(struct textfile *t, int ret)
{
	snprintf(t->output.err, sizeof(t->output.err), "%.400s: cannot write the metrics: %s", t->name, strerror(-ret));
	return ret;
}

static int textfile_write_file(struct textfile *t)
{
	char *text = metrics_text(t->metrics);
	int ret = text ? file_replace(AT_FDCWD, t->name, text, strlen(text)) : -ENOMEM;

	free(text);
	return ret ? textfile_fail(t, ret) : 0;
}

static int text_begin(struct live_output *output, const struct live_job *job)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->begin(t->counter, job);
}

static int text_calls(struct live_output *output, const struct live_interval *interval, const struct live_calls *calls)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->calls(t->counter, interval, calls);
}

static int text_operations(struct live_output *output, const struct live_interval *interval,
			   const struct live_operations *operations)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->operations(t->counter, interval, operations);
}

static int text_skipped(struct live_output *output, const struct live_interval *interval, const struct live_skipped *skipped)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->skipped(t->counter, interval, skipped);
}

static int text_interval(struct live_output *output, const struct live_interval *interval)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->interval(t->counter, interval) ?: textfile_write_file(t);
}

static int text_end(struct live_output *output, const struct live_end *end)
{
	struct textfile *t = (struct textfile *)output;

	return t->counter->end(t->counter, end) ?: textfile_write_file(t);
}

static void textfile_destroy(struct live_output *output)
{
	metrics_destroy(((struct textfile *)output)->metrics);
	free(output);
}

static int textfile_create(struct live_output **output, const char *where, char *err, size_t err_len)
{
	struct textfile *t = calloc(1, sizeof(*t));
	int ret = t ? metrics_create(&t->metrics, &t->counter) : -ENOMEM;

	if (ret) {
		snprintf(err, err_len, "%s: cannot write the metrics: %s", where, strerror(-ret));
		free(t);
		return ret;
	}
	snprintf(t->name, sizeof(t->name), "%s", where);
	t->output = (struct live_output){ .begin = text_begin,
					  .calls = text_calls,
					  .operations = text_operations,
					  .skipped = text_skipped,
					  .interval = text_interval,
					  .end = text_end,
					  .destroy = textfile_destroy };
	*output = &t->output;
	return 0;
}

const struct live_output_kind live_prometheus_kind = {
	.name = "prometheus", .where = "an absolute path",
	.where_kind = WHERE_FILE, .create = textfile_create,
};
