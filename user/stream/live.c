/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Divides the summary into intervals. A call or operation is counted in the interval in which its record arrived: a call without
 * recorded calls inside at its end, other calls at their begin. Its time is divided among the intervals that it overlaps.
 */
#include "stream/live_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EARLIER_INTERVALS 600 /* the time of a call before these is reported in the first of them */

int live_first_failure(const struct live_sink *s)
{
	for (size_t i = 0; i < s->noutputs; i++)
		if (!s->outputs[i]->failed)
			return 0;
	return s->noutputs ? s->outputs[0]->failed : 0;
}

uint64_t live_steady_ns(const struct model *model, uint64_t monotonic_ns)
{
	return model->clock_start.realtime_ns + monotonic_ns - model->clock_start.monotonic_ns;
}

static uint64_t live_monotonic_ns(const struct model *model, uint64_t steady_ns)
{
	return steady_ns + model->clock_start.monotonic_ns - model->clock_start.realtime_ns;
}

static uint64_t steady_to_epoch_ns(const struct model *model, uint64_t steady_ns)
{
	return model_realtime_ns(model, live_monotonic_ns(model, steady_ns));
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* ---- the rows of an interval ---- */

static int live_on_calls(void *arg, uint32_t group, const char *layer, const struct summary_calls *added)
{
	struct live_sink *s = arg;
	struct live_calls_row *row = live_rows_calls(&s->rows, &(struct live_calls_key){ s->now.number, layer, group });

	if (!row)
		return -ENOMEM;
	row->added = *added;
	return 0;
}

static void add_numbers(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

/* Handles of one file are combined in one row. */
static int live_on_operations(void *arg, uint32_t group, uint32_t handle, const struct summary_operations *added)
{
	struct live_sink *s = arg;
	struct live_operations_key key = { s->now.number, group, 0, s->model->handles.v[handle].paradigm, 0 };
	int ret = live_file_of(s, handle, &key.file);
	struct live_operations_row *row = ret ? NULL : live_rows_operations(&s->rows, &key);

	if (!row)
		return ret ? ret : -ENOMEM;
	add_numbers(&row->added.counts, &added->counts, sizeof(added->counts));
	add_numbers(&row->added.sizes, &added->sizes, sizeof(added->sizes));
	for (int i = 0; i < MODEL_CLASSES; i++)
		summary_class_add(&row->added.classes[i], &added->classes[i]);
	if (added->longest_ns > row->added.longest_ns)
		row->added.longest_ns = added->longest_ns;
	return 0;
}

static int live_add_earlier(struct live_sink *s, const struct summary_earlier *earlier, uint64_t interval, uint64_t ns)
{
	struct live_operations_key key = { interval, earlier->group, 0, 0, 0 };
	struct live_operations_row *operations;
	struct live_calls_row *calls;
	int ret;

	if (earlier->layer) {
		calls = live_rows_calls(&s->rows, &(struct live_calls_key){ interval, earlier->layer, earlier->group });
		if (calls && earlier->system) {
			calls->added.system_ns += ns;
		} else if (calls) {
			calls->added.time_ns += ns;
			calls->added.classes[earlier->class].time_ns += ns;
		}
		return calls ? 0 : -ENOMEM;
	}
	key.paradigm = s->model->handles.v[earlier->handle].paradigm;
	ret = live_file_of(s, earlier->handle, &key.file);
	operations = ret ? NULL : live_rows_operations(&s->rows, &key);
	if (!operations)
		return ret ? ret : -ENOMEM;
	operations->added.counts.time_ns += ns;
	operations->added.classes[earlier->class].time_ns += ns;
	if (earlier->class == MODEL_CLASS_METADATA || earlier->class == MODEL_CLASS_LOCK)
		operations->added.counts.metadata_ns += ns;
	return 0;
}

/* Divides the time among the intervals that it overlaps. */
static int on_earlier(void *arg, const struct summary_earlier *earlier)
{
	struct live_sink *s = arg;
	uint64_t from_ns = live_steady_ns(s->model, earlier->from_ns), to_ns = live_steady_ns(s->model, earlier->to_ns);
	uint64_t number = from_ns / s->options.interval_ns;
	int ret = 0;

	if (number + EARLIER_INTERVALS < s->now.number)
		number = s->now.number - EARLIER_INTERVALS;
	for (; from_ns < to_ns && !ret; number++) {
		uint64_t end_ns = (number + 1) * s->options.interval_ns < to_ns ? (number + 1) * s->options.interval_ns : to_ns;

		ret = live_add_earlier(s, earlier, number, end_ns - from_ns);
		from_ns = end_ns;
	}
	return ret;
}

/* ---- an interval ---- */

/* Described once for consecutive rows. */
struct row_process {
	char name[256];
	struct live_process process;
	bool described;
};

static int live_row_process(struct live_sink *s, uint64_t id, struct row_process *of)
{
	if (of->described && of->process.id == id)
		return 0;
	of->process = live_describe_process(s, id, of->name, sizeof(of->name));
	of->described = true;
	return live_report_process(s, &of->process);
}

static int live_report_calls(struct live_sink *s, const struct live_calls_row *row, struct row_process *of)
{
	struct live_calls calls = { row->key.interval, &of->process, row->key.layer, &row->added };
	int ret = live_row_process(s, row->key.process, of);

	if (!ret)
		ret = REPORT(s, calls, &s->now, &calls);
	return ret;
}

static int report_operations(struct live_sink *s, const struct live_operations_row *row, struct row_process *of)
{
	char path[FILE_NAME_ROOM];
	struct live_file file = live_describe_file(s, row->key.file, row->key.file, path, sizeof(path));
	struct live_operations operations = { row->key.interval, &of->process, &file,
					      s->model->paradigms.v[row->key.paradigm].identification, &row->added };
	int ret = live_row_process(s, row->key.process, of);

	if (!ret)
		ret = REPORT(s, operations, &s->now, &operations);
	return ret;
}

static int report_rows(struct live_sink *s)
{
	struct row_process of = { .described = false };
	int ret = 0;

	for (const struct live_calls_row *row = s->rows.calls; row && !ret; row = row->hh.next)
		ret = live_report_calls(s, row, &of);
	for (const struct live_operations_row *row = s->rows.operations; row && !ret; row = row->hh.next)
		ret = report_operations(s, row, &of);
	live_rows_clear(&s->rows);
	return ret;
}

/* The model contains running totals: reports their increase, first of each process. What is left is of processes that are not
 * known. */
static int report_skipped_part(struct live_sink *s, size_t index)
{
	const struct model_excluded_part *now = &s->model->excluded_parts.v[index];
	const struct model_excluded *entry = &s->model->excluded.v[now->entry];
	char name[256];
	struct live_process process = live_describe_process(s, now->group, name, sizeof(name));
	struct live_skipped skipped = { .process = &process, .filter = entry->filter, .layer = entry->layer };
	struct model_excluded_part *then;
	struct model_excluded *sum;
	int ret = GROW(s->skipped_parts, index) ?: GROW(s->skipped, now->entry);

	if (ret)
		return ret;
	then = &s->skipped_parts.v[index];
	if (!entry->layer || now->calls == then->calls)
		return 0;
	skipped.calls = now->calls - then->calls;
	skipped.bytes_read = now->read_bytes - then->read_bytes;
	skipped.bytes_written = now->written_bytes - then->written_bytes;
	skipped.calls_of_unknown_size = now->unknown - then->unknown;
	skipped.time_ns = now->time_ns - then->time_ns;
	*then = *now;
	sum = &s->skipped.v[now->entry];
	sum->calls += skipped.calls;
	sum->read_bytes += skipped.bytes_read;
	sum->written_bytes += skipped.bytes_written;
	sum->unknown += skipped.calls_of_unknown_size;
	sum->time_ns += skipped.time_ns;
	ret = live_report_process(s, &process);
	if (!ret)
		ret = REPORT(s, skipped, &s->now, &skipped);
	return ret;
}

static int report_skipped(struct live_sink *s, size_t index)
{
	const struct model_excluded *now = &s->model->excluded.v[index];
	struct model_excluded *then;
	struct live_skipped skipped = { .filter = now->filter, .layer = now->layer };
	int ret = GROW(s->skipped, index);

	if (ret)
		return ret;
	then = &s->skipped.v[index];
	if (!now->layer || now->calls == then->calls)
		return 0;
	skipped.calls = now->calls - then->calls;
	skipped.bytes_read = now->read_bytes - then->read_bytes;
	skipped.bytes_written = now->written_bytes - then->written_bytes;
	skipped.calls_of_unknown_size = now->unknown - then->unknown;
	skipped.time_ns = now->time_ns - then->time_ns;
	*then = *now;
	if (!ret)
		ret = REPORT(s, skipped, &s->now, &skipped);
	return ret;
}

static int report_gap(struct live_sink *s, const struct model_gap *g)
{
	struct live_gap gap = { g->tgid, g->layer, g->reason, model_realtime_ns(s->model, g->from_ns),
				model_realtime_ns(s->model, g->to_ns) };
	int ret = 0;

	if (!ret)
		ret = REPORT(s, gap, &s->now, &gap);
	return ret;
}

/* Without a call for some time, an interval may be closed when later steps are known. */
static bool live_is_over(const struct live_sink *s, const struct model_clock_step *step)
{
	return s->now.last || live_steady_ns(s->model, step->at.monotonic_ns) < s->end_ns;
}

static int report_step(struct live_sink *s, const struct model_clock_step *step)
{
	struct live_clock_step reported = { step->at.realtime_ns, step->step_ns, step->at.monotonic_ns - step->since_ns };
	int ret = 0;

	if (!ret)
		ret = REPORT(s, clock_step, &s->now, &reported);
	return ret;
}

/* Reports what was not recorded in the interval, and steps of the clock. */
static int live_report_missing(struct live_sink *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->model->excluded_parts.n && !ret; i++)
		ret = report_skipped_part(s, i);
	for (size_t i = 0; i < s->model->excluded.n && !ret; i++)
		ret = report_skipped(s, i);
	while (s->ngaps < s->model->gaps.n && !ret)
		ret = report_gap(s, &s->model->gaps.v[s->ngaps++]);
	while (s->nsteps < s->model->clock_steps.n && !ret && live_is_over(s, &s->model->clock_steps.v[s->nsteps]))
		ret = report_step(s, &s->model->clock_steps.v[s->nsteps++]);
	s->now.records_lost = s->model->totals.lost_records - s->lost;
	s->lost = s->model->totals.lost_records;
	return ret;
}

static uint64_t lag_since(uint64_t ended_ns)
{
	uint64_t wall = wall_ns();

	return wall > ended_ns ? wall - ended_ns : 0;
}

/* All outputs have the interval, or have failed. */
static void live_report_delivery(struct live_sink *s, uint64_t ended_ns)
{
	struct live_report *report = s->options.report;

	for (size_t i = 0; i < s->noutputs; i++) {
		*(s->outputs[i]->failed ? &s->outputs[i]->missed : &s->outputs[i]->delivered) += 1;
		if (report && s->outputs[i]->failed)
			report->missed++;
	}
	for (size_t i = 0; i < s->noutputs; i++)
		if (s->outputs[i]->failed)
			return;         /* not all have it: no lag is known */
	if (report && !s->now.last) {
		report->intervals++;
		report->lag_ns += lag_since(ended_ns);
	}
}

static int close_interval(struct live_sink *s, bool last)
{
	const struct summary_changes changes = { s, live_on_calls, live_on_operations, on_earlier };
	uint64_t ended_ns = steady_to_epoch_ns(s->model, s->end_ns);
	int ret;

	s->now.last = last;
	s->now.open_calls = summary_sink_open_calls(s->counter);
	s->now.lag_ns = lag_since(ended_ns);
	ret = summary_sink_changes(s->counter, s->model, live_monotonic_ns(s->model, s->end_ns), last, &changes);
	if (!ret)
		ret = report_rows(s);
	if (!ret)
		ret = live_report_missing(s);
	if (!ret)
		ret = REPORT(s, interval, &s->now);
	live_report_delivery(s, ended_ns);
	return ret;
}

static void set_interval(struct live_sink *s, uint64_t number)
{
	s->end_ns = (number + 1) * s->options.interval_ns;
	s->now.number = number;
	s->now.begin_ns = steady_to_epoch_ns(s->model, number * s->options.interval_ns);
	s->now.end_ns = s->now.begin_ns + s->options.interval_ns;
}

static int live_begin(struct live_sink *s, uint64_t time_ns)
{
	const struct model *m = s->model;
	struct live_job job = { m->host_name,
				m->kernel,
				m->version,
				m->batch_job,
				s->options.names == LIVE_NAMES_FULL ? m->command_line : NULL,
				model_realtime_ns(m, m->recording_begin_ns ? m->recording_begin_ns : time_ns),
				s->options.interval_ns,
				m->recording_tag };
	uint64_t first_ns = m->recording_begin_ns && m->recording_begin_ns < time_ns ? m->recording_begin_ns : time_ns;
	int ret = 0;

	s->begun = true;
	set_interval(s, live_steady_ns(m, first_ns) / s->options.interval_ns);
	if (!ret)
		ret = REPORT(s, begin, &job);
	return ret;
}

/* Closes the intervals that end at or before this time. */
static int live_advance(struct live_sink *s, const struct model *model, uint64_t time_ns)
{
	uint64_t now_ns = live_steady_ns(model, time_ns);
	int ret = 0;

	s->model = model;
	if (!s->begun)
		ret = live_begin(s, time_ns);
	while (!ret && now_ns >= s->end_ns) {
		ret = close_interval(s, false);
		set_interval(s, s->now.number + 1);
	}
	return ret;
}

/* ---- the sink ---- */

/* Rows of many files are reported before the interval's end, and added to later: each is what it adds. */
static int live_flush(struct live_sink *s)
{
	const struct summary_changes changes = { s, live_on_calls, live_on_operations, on_earlier };
	int ret = summary_sink_flush(s->counter, &changes);

	return ret || !s->rows.operations ? ret : report_rows(s);
}

static int live_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct live_sink *s = (struct live_sink *)sink;
	/* an Enter may be reported together with its Leave */
	int ret = e->type == EV_ENTER && s->begun ? 0 : live_advance(s, model, e->time_ns);

	s->model = model;
	if (!ret && s->calls)
		ret = calls_event(s->calls, model, e, live_ended_call, s);
	if (!ret)
		ret = s->counter->event(s->counter, model, e);
	return ret ? ret : live_flush(s);
}

/* Before the first record the time range of the recording is unknown. */
static int live_time(struct sink *sink, const struct model *model, uint64_t complete_ns)
{
	struct live_sink *s = (struct live_sink *)sink;

	return s->begun ? live_advance(s, model, complete_ns) : 0;
}

static int live_location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct live_sink *s = (struct live_sink *)sink;

	calls_location_end(s->calls, location);
	return s->counter->location_end(s->counter, model, location);
}

static int live_finish(struct sink *sink, const struct model *model)
{
	struct live_sink *s = (struct live_sink *)sink;
	struct live_end end = { model->complete, model->totals.lost_records, model->end.after_bound,
				model_realtime_ns(model, model->clock_end_ns), model->end.stopped_by };
	int ret = live_advance(s, model, model->clock_end_ns);

	if (!ret)
		ret = close_interval(s, true);
	if (!ret)
		ret = live_revise(s);
	if (!ret)
		ret = REPORT(s, end, &end);
	return ret;
}

int live_sink_create(struct sink **out, struct live_output **outputs, size_t noutputs, const struct live_options *options)
{
	struct live_sink *s = calloc(1, sizeof(*s));
	int ret = s ? summary_sink_create_counter(&s->counter) : -ENOMEM;

	if (ret) {
		free(s);
		return ret;
	}
	s->sink = (struct sink){ .event = live_event, .finish = live_finish, .location_end = live_location_end, .time = live_time };
	s->outputs = outputs;
	s->noutputs = noutputs;
	s->options = *options;
	*out = &s->sink;
	if (options->events == LIVE_EVENTS_NONE)
		return 0;
	s->calls = calls_create();
	s->darshan = darshan_records_create();
	if (s->calls && s->darshan)
		return 0;
	live_sink_destroy(*out);
	*out = NULL;
	return -ENOMEM;
}

void live_sink_destroy(struct sink *sink)
{
	struct live_sink *s = (struct live_sink *)sink;

	if (!s)
		return;
	summary_sink_destroy(s->counter);
	calls_destroy(s->calls);
	darshan_records_destroy(s->darshan);
	live_rows_deinit(&s->rows);
	free(s->skipped.v);
	free(s->skipped_parts.v);
	free(s->processes.v);
	free(s->files.v);
	free(s->handles.v);
	free(s);
}
