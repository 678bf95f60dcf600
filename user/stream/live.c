/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Divides the summary into intervals. A call or operation is counted in the interval in which its record arrived: a call without
 * recorded calls inside at its end, other calls at their begin. Its time is divided among the intervals that it overlaps.
 */
#include "stream/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/calls.h"
#include "stream/darshan.h"
#include "stream/live_rows.h"

#define EARLIER_INTERVALS 600 /* the time of a call before these is reported in the first of them */
#define FILE_NAME_ROOM 4200
#define NO_FILE 0x80000000u /* or'ed to a handle's number: the id of an unknown file */

/* What was already reported of a process, to detect changes. */
struct known_process {
	const char *name, *executable, *batch_job;
	int64_t rank, uid;
	bool reported;
};

struct live_sink {
	struct sink sink; /* first member: the public interface */
	struct sink *counter;
	struct live_output **outputs;
	size_t noutputs;
	struct live_options options;
	struct calls *calls; /* NULL: events are not wanted */
	struct darshan_records *darshan;
	struct live_interval now;
	bool begun;
	const struct model *model; /* during a call */
	MODEL_ARRAY(struct known_process, processes);
	MODEL_ARRAY(uint8_t, files); /* by file: reported */
	MODEL_ARRAY(uint8_t, handles); /* by handle: reported as an unknown file */
	MODEL_ARRAY(struct model_excluded, skipped); /* increments already reported, per entry of the model's */
	struct live_rows rows;
	size_t ngaps, nsteps; /* that were reported */
	uint64_t end_ns; /* of the current interval, as steady_ns counts */
	uint64_t lost; /* the same */
	uint64_t nevents; /* that were looked at */
};

/* Reports to all outputs that have not failed. Fails when all have. */
#define REPORT(sink, function, ...) \
	({ \
		for (size_t i_ = 0; i_ < (sink)->noutputs; i_++) { \
			struct live_output *output_ = (sink)->outputs[i_]; \
			if (output_->function && !output_->failed) \
				output_->failed = output_->function(output_, __VA_ARGS__); \
		} \
		first_failure(sink); \
	})

/* Only if no output is left. */
static int first_failure(const struct live_sink *s)
{
	for (size_t i = 0; i < s->noutputs; i++)
		if (!s->outputs[i]->failed)
			return 0;
	return s->noutputs ? s->outputs[0]->failed : 0;
}

/* The wall clock as if no one had set it since the recording began: intervals are divided by it, so that they have one length and
 * none comes twice. */
static uint64_t steady_ns(const struct model *model, uint64_t monotonic_ns)
{
	return model->clock_start.realtime_ns + monotonic_ns - model->clock_start.monotonic_ns;
}

static uint64_t monotonic_ns(const struct model *model, uint64_t steady_ns)
{
	return steady_ns + model->clock_start.monotonic_ns - model->clock_start.realtime_ns;
}

static uint64_t steady_to_epoch_ns(const struct model *model, uint64_t steady_ns)
{
	return model_realtime_ns(model, monotonic_ns(model, steady_ns));
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Makes room for index. The arrays have the layout of MODEL_ARRAY but are not part of the model. */
#define GROW(array, index) grow((void **)&(array).v, &(array).n, &(array).cap, sizeof(*(array).v), index)

static int grow(void **v, size_t *n, size_t *cap, size_t size, size_t index)
{
	size_t wanted = *cap ? *cap : 64;
	void *grown;

	if (index < *n)
		return 0;
	while (wanted <= index)
		wanted *= 2;
	grown = wanted > *cap ? reallocarray(*v, wanted, size) : *v;
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + *n * size, 0, (wanted - *n) * size);
	*v = grown;
	*n = *cap = wanted;
	return 0;
}

/* ---- definitions ---- */

/* Names and ranks are final at the end of the recording; until then: the program's name, and the rank assigned by the launcher. */
static void name_process(struct live_process *process, const struct model_process *life, char *name, size_t len)
{
	const char *program = process->executable ? strrchr(process->executable, '/') : NULL;

	if (process->name || !life)
		return;
	process->rank = life->rank_claim - 1;
	process->name = name;
	if (process->rank >= 0)
		snprintf(name, len, "MPI Rank %lld", (long long)process->rank);
	else
		snprintf(name, len, "%.200s (pid %u)", program ? program + 1 : process->executable ?: "process", process->pid);
}

/* name: buffer for its name, as long as that is not final. */
static struct live_process describe_process(const struct live_sink *s, uint32_t group, char *name, size_t len)
{
	const struct model_group *g = group < s->model->groups.n ? &s->model->groups.v[group] : NULL;
	const struct model_process *life = group < s->model->processes.n ? &s->model->processes.v[group] : NULL;
	struct live_process process = { .id = group, .rank = -1, .uid = -1 };

	if (life) {
		process.executable = life->executable;
		process.uid = life->has_uid ? (int64_t)life->uid : -1;
		process.begin_ns = life->begin_ns ? model_realtime_ns(s->model, life->begin_ns) : 0;
		process.batch_job = life->batch_job;
	}
	if (!g)
		return process;
	process.pid = g->tgid;
	process.rank = g->rank;
	process.name = g->name;
	name_process(&process, life, name, len);
	if (s->options.names != LIVE_NAMES_FULL && process.executable)
		process.executable = strrchr(process.executable, '/') ? strrchr(process.executable, '/') + 1 : process.executable;
	return process;
}

/* Reports a process before its first row, and when more of it becomes known. */
static int report_process(struct live_sink *s, const struct live_process *process)
{
	const char *name = process->id < s->model->groups.n ? s->model->groups.v[process->id].name : NULL;
	struct known_process *known;
	int ret = GROW(s->processes, process->id);

	if (ret)
		return ret;
	known = &s->processes.v[process->id];
	if (known->reported && known->name == name && known->rank == process->rank && known->executable == process->executable &&
	    known->uid == process->uid && known->batch_job == process->batch_job)
		return 0;
	*known = (struct known_process){ name, process->executable, process->batch_job, process->rank, process->uid, true };
	if (!ret)
		ret = REPORT(s, process, process);
	return ret;
}

/* A hash distinguishes names without disclosing them; a guessed name can be verified with it. text: buffer for the name. */
static const char *hide_name(enum live_names names, const struct model_file *f, char *text, size_t len)
{
	const char *mount = f->mount_point && strcmp(f->mount_point, "/") ? f->mount_point : "";
	uint64_t hash = 0xcbf29ce484222325ull;

	if (names == LIVE_NAMES_FULL || !f->path || f->special)
		return f->path;
	for (const char *c = f->path; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	if (names == LIVE_NAMES_HASH)
		snprintf(text, len, "%s/%016llx", mount, (unsigned long long)hash);
	else
		snprintf(text, len, "%s/", mount);
	return text;
}

/* name: buffer for its path. */
static struct live_file describe_file(const struct live_sink *s, uint32_t id, uint32_t ref, char *name, size_t len)
{
	const struct model_file *f = ref < s->model->files.n ? &s->model->files.v[ref] : NULL;
	struct live_file file = { .id = id };

	if (f)
		file = (struct live_file){ id,
					   hide_name(s->options.names, f, name, len),
					   f->mount_point,
					   f->mount_source,
					   f->fs_type,
					   summary_scope_name(f->scope),
					   f->special };
	return file;
}

static int report_file_as(struct live_sink *s, uint32_t id, uint32_t ref)
{
	char path[FILE_NAME_ROOM];
	struct live_file file = describe_file(s, id, ref, path, sizeof(path));
	int ret = 0;

	if (!ret)
		ret = REPORT(s, file, &file);
	return ret;
}

/* Returns the id of the handle's file; the file is reported before its first use. */
static int file_of(struct live_sink *s, uint32_t handle, uint32_t *id)
{
	uint32_t ref = s->model->handles.v[handle].file;
	int ret;

	if (ref >= s->model->files.n) {
		*id = NO_FILE | handle;
		ret = GROW(s->handles, handle);
		if (ret || s->handles.v[handle])
			return ret;
		s->handles.v[handle] = 1;
		return report_file_as(s, *id, REF_NONE);
	}
	*id = ref;
	ret = GROW(s->files, ref);
	if (ret || s->files.v[ref])
		return ret;
	s->files.v[ref] = 1;
	return report_file_as(s, ref, ref);
}

static int revise_process(struct live_sink *s, uint32_t group)
{
	char name[256];
	struct live_process process = describe_process(s, group, name, sizeof(name));

	return report_process(s, &process);
}

/* Files whose path or mount became known at the end, and handles whose file did. */
static int revise_files(struct live_sink *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->files.n && !ret; i++)
		if (s->files.v[i])
			ret = report_file_as(s, i, i);
	for (size_t i = 0; i < s->handles.n && i < s->model->handles.n && !ret; i++)
		if (s->handles.v[i] && s->model->handles.v[i].file < s->model->files.n)
			ret = report_file_as(s, NO_FILE | i, s->model->handles.v[i].file);
	return ret;
}

/* ---- the rows of an interval ---- */

static int on_calls(void *arg, uint32_t group, const char *layer, const struct summary_calls *added)
{
	struct live_sink *s = arg;
	struct live_calls_row *row = live_rows_calls(&s->rows, &(struct live_calls_key){ s->now.number, layer, group });

	if (!row)
		return -ENOMEM;
	row->added = *added;
	return 0;
}

/* Handles of one file are combined in one row. */
static int on_operations(void *arg, uint32_t group, uint32_t handle, const struct summary_counts *added, uint64_t longest_ns)
{
	struct live_sink *s = arg;
	struct live_operations_key key = { s->now.number, group, 0, s->model->handles.v[handle].paradigm, 0 };
	int ret = file_of(s, handle, &key.file);
	const uint64_t *from = (const uint64_t *)added;
	struct live_operations_row *row = ret ? NULL : live_rows_operations(&s->rows, &key);

	if (!row)
		return ret ? ret : -ENOMEM;
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)&row->added)[i] += from[i];
	row->longest_ns = longest_ns > row->longest_ns ? longest_ns : row->longest_ns;
	return 0;
}

static int add_earlier(struct live_sink *s, const struct summary_earlier *earlier, uint64_t interval, uint64_t ns)
{
	struct live_operations_key key = { interval, earlier->group, 0, 0, 0 };
	struct live_operations_row *operations;
	struct live_calls_row *calls;
	int ret;

	if (earlier->layer) {
		calls = live_rows_calls(&s->rows, &(struct live_calls_key){ interval, earlier->layer, earlier->group });
		if (calls)
			*(earlier->system ? &calls->added.system_ns : &calls->added.time_ns) += ns;
		return calls ? 0 : -ENOMEM;
	}
	key.paradigm = s->model->handles.v[earlier->handle].paradigm;
	ret = file_of(s, earlier->handle, &key.file);
	operations = ret ? NULL : live_rows_operations(&s->rows, &key);
	if (!operations)
		return ret ? ret : -ENOMEM;
	operations->added.time_ns += ns;
	operations->added.metadata_ns += earlier->metadata ? ns : 0;
	return 0;
}

/* Divides the time among the intervals that it overlaps. */
static int on_earlier(void *arg, const struct summary_earlier *earlier)
{
	struct live_sink *s = arg;
	uint64_t from_ns = steady_ns(s->model, earlier->from_ns), to_ns = steady_ns(s->model, earlier->to_ns);
	uint64_t number = from_ns / s->options.interval_ns;
	int ret = 0;

	if (number + EARLIER_INTERVALS < s->now.number)
		number = s->now.number - EARLIER_INTERVALS;
	for (; from_ns < to_ns && !ret; number++) {
		uint64_t end_ns = (number + 1) * s->options.interval_ns < to_ns ? (number + 1) * s->options.interval_ns : to_ns;

		ret = add_earlier(s, earlier, number, end_ns - from_ns);
		from_ns = end_ns;
	}
	return ret;
}

/* ---- an interval ---- */

static int report_calls(struct live_sink *s, const struct live_calls_row *row)
{
	char name[256];
	struct live_process process = describe_process(s, row->key.process, name, sizeof(name));
	struct live_calls calls = { row->key.interval, &process, row->key.layer, &row->added };
	int ret = report_process(s, &process);

	if (!ret)
		ret = REPORT(s, calls, &s->now, &calls);
	return ret;
}

static int report_operations(struct live_sink *s, const struct live_operations_row *row)
{
	char name[256], path[FILE_NAME_ROOM];
	struct live_process process = describe_process(s, row->key.process, name, sizeof(name));
	struct live_file file = describe_file(s, row->key.file, row->key.file, path, sizeof(path));
	struct live_operations operations = {
		row->key.interval, &process,       &file, s->model->paradigms.v[row->key.paradigm].identification,
		&row->added,       row->longest_ns
	};
	int ret = report_process(s, &process);

	if (!ret)
		ret = REPORT(s, operations, &s->now, &operations);
	return ret;
}

static int report_rows(struct live_sink *s)
{
	int ret = 0;

	for (const struct live_calls_row *row = s->rows.calls; row && !ret; row = row->hh.next)
		ret = report_calls(s, row);
	for (const struct live_operations_row *row = s->rows.operations; row && !ret; row = row->hh.next)
		ret = report_operations(s, row);
	live_rows_clear(&s->rows);
	return ret;
}

/* The model contains a running total: reports its increase. */
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
static bool is_over(const struct live_sink *s, const struct model_clock_step *step)
{
	return s->now.last || steady_ns(s->model, step->at.monotonic_ns) < s->end_ns;
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
static int report_missing(struct live_sink *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->model->excluded.n && !ret; i++)
		ret = report_skipped(s, i);
	while (s->ngaps < s->model->gaps.n && !ret)
		ret = report_gap(s, &s->model->gaps.v[s->ngaps++]);
	while (s->nsteps < s->model->clock_steps.n && !ret && is_over(s, &s->model->clock_steps.v[s->nsteps]))
		ret = report_step(s, &s->model->clock_steps.v[s->nsteps++]);
	s->now.records_lost = s->model->totals.lost_records - s->lost;
	s->lost = s->model->totals.lost_records;
	return ret;
}

static int close_interval(struct live_sink *s, bool last)
{
	const struct summary_changes changes = { s, on_calls, on_operations, on_earlier };
	uint64_t wall = wall_ns(), ended = steady_to_epoch_ns(s->model, s->end_ns);
	int ret;

	s->now.last = last;
	s->now.open_calls = summary_sink_open_calls(s->counter);
	s->now.lag_ns = wall > ended ? wall - ended : 0;
	ret = summary_sink_changes(s->counter, s->model, monotonic_ns(s->model, s->end_ns), last, &changes);
	if (!ret)
		ret = report_rows(s);
	if (!ret)
		ret = report_missing(s);
	if (!ret)
		ret = REPORT(s, interval, &s->now);
	return ret;
}

static void set_interval(struct live_sink *s, uint64_t number)
{
	s->end_ns = (number + 1) * s->options.interval_ns;
	s->now.number = number;
	s->now.begin_ns = steady_to_epoch_ns(s->model, number * s->options.interval_ns);
	s->now.end_ns = s->now.begin_ns + s->options.interval_ns;
}

static int begin(struct live_sink *s, uint64_t time_ns)
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
	set_interval(s, steady_ns(m, first_ns) / s->options.interval_ns);
	if (!ret)
		ret = REPORT(s, begin, &job);
	return ret;
}

/* Closes the intervals that end at or before this time. */
static int advance(struct live_sink *s, const struct model *model, uint64_t time_ns)
{
	uint64_t now_ns = steady_ns(model, time_ns);
	int ret = 0;

	s->model = model;
	if (!s->begun)
		ret = begin(s, time_ns);
	while (!ret && now_ns >= s->end_ns) {
		ret = close_interval(s, false);
		set_interval(s, s->now.number + 1);
	}
	return ret;
}

/* ---- events ---- */

const char *live_op_name(enum live_op op)
{
	static const char *const names[] = { [LIVE_OP_OTHER] = "other", [LIVE_OP_OPEN] = "open",   [LIVE_OP_READ] = "read",
					     [LIVE_OP_WRITE] = "write", [LIVE_OP_CLOSE] = "close", [LIVE_OP_FLUSH] = "flush" };

	return names[op];
}

static bool is_flush(const char *call)
{
	static const char *const names[] = { "fflush", "fflush_unlocked", "H5Fflush", "H5Fflush_async", "H5Dflush" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(call, names[i]))
			return true;
	return false;
}

static bool is_wanted(struct live_sink *s, const struct ended_call *call, uint64_t *weight)
{
	*weight = 1;
	switch (s->options.events) {
	case LIVE_EVENTS_NONE: return false;
	case LIVE_EVENTS_ERRORS: return call->failed;
	case LIVE_EVENTS_SLOW: return call->end_ns - call->begin_ns >= s->options.slow_ns;
	case LIVE_EVENTS_SAMPLE: *weight = s->options.sample; return s->nevents++ % s->options.sample == 0;
	case LIVE_EVENTS_ALL: return true;
	}
	return false;
}

static int report_event(struct live_sink *s, struct live_event *event)
{
	int ret = report_process(s, event->process);

	if (!ret)
		ret = REPORT(s, event, &s->now, event);
	return ret;
}

/* Counted whether or not it is reported: counters are those of all calls. */
static int on_ended_call(void *arg, const struct ended_call *call)
{
	struct live_sink *s = arg;
	const struct model *m = s->model;
	const struct model_location *location = &m->locations.v[call->location];
	char name[256], path[FILE_NAME_ROOM];
	struct live_process process = describe_process(s, location->group, name, sizeof(name));
	struct live_file file;
	struct live_event event;
	uint32_t id;
	int ret = 0;

	event.process = &process;
	event.file = NULL;
	event.name = NULL;
	if (call->handle < m->handles.n) {
		ret = file_of(s, call->handle, &id);
		file = describe_file(s, id, id, path, sizeof(path));
		event.file = &file;
		event.name = m->handles.v[call->handle].name && m->handles.v[call->handle].name[0] ? m->handles.v[call->handle].name
												   : NULL;
		if (s->options.names != LIVE_NAMES_FULL)
			event.name = NULL;
	}
	event.tid = location->tid;
	event.layer = m->regions.v[call->region].paradigm;
	event.call = m->regions.v[call->region].name;
	event.op = call->op == LIVE_OP_OTHER && is_flush(event.call) ? LIVE_OP_FLUSH : call->op;
	event.begin_ns = steady_ns(m, call->begin_ns);
	event.end_ns = steady_ns(m, call->end_ns);
	event.offset = call->offset;
	event.asked = call->asked;
	event.moved = call->moved;
	event.failed = call->failed;
	event.error = call->error;
	if (!ret)
		ret = darshan_count(s->darshan, &event);
	event.end_ns = model_realtime_ns(m, call->end_ns);
	event.begin_ns = event.end_ns - (call->end_ns - call->begin_ns); /* the clock may have been set in between */
	if (ret || !is_wanted(s, call, &event.weight))
		return ret;
	return report_event(s, &event);
}

/* ---- the sink ---- */

static int live_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct live_sink *s = (struct live_sink *)sink;
	/* an Enter may be reported together with its Leave */
	int ret = e->type == EV_ENTER && s->begun ? 0 : advance(s, model, e->time_ns);

	s->model = model;
	if (!ret && s->calls)
		ret = calls_event(s->calls, model, e, on_ended_call, s);
	return ret ? ret : s->counter->event(s->counter, model, e);
}

/* Before the first record the time range of the recording is unknown. */
static int live_time(struct sink *sink, const struct model *model, uint64_t complete_ns)
{
	struct live_sink *s = (struct live_sink *)sink;

	return s->begun ? advance(s, model, complete_ns) : 0;
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
	int ret = advance(s, model, model->clock_end_ns);

	if (!ret)
		ret = close_interval(s, true);
	if (!ret)
		ret = revise_files(s);
	for (size_t g = 0; g < s->processes.n && g < model->groups.n && !ret; g++)
		if (s->processes.v[g].reported)
			ret = revise_process(s, g);
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
	live_rows_clear(&s->rows);
	free(s->skipped.v);
	free(s->processes.v);
	free(s->files.v);
	free(s->handles.v);
	free(s);
}
