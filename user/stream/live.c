/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Cuts the summary into intervals. A call or operation counts in the interval in which its record came: a call without recorded
 * calls inside when it ends, others when they begin (calls) and end (time).
 */
#include "stream/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/hash.h"

#define NO_FILE 0x80000000u /* with a handle's number: the id of a file that is not known */

struct row_key {
	uint32_t process, file, paradigm;
};
struct row {
	struct row_key key;
	struct summary_counts added;
	UT_hash_handle hh;
};

/* What was reported of a process, to see what is new. */
struct known_process {
	const char *name, *executable;
	int64_t rank;
	bool reported;
};

struct live_sink {
	struct sink sink; /* first: the public face */
	struct sink *counter;
	struct live_output **outputs;
	size_t noutputs;
	uint64_t interval_ns;
	struct live_interval now;
	bool begun;
	const struct model *model; /* during a call */
	MODEL_ARRAY(struct known_process, processes);
	MODEL_ARRAY(uint8_t, files); /* by file: reported */
	MODEL_ARRAY(uint8_t, handles); /* by handle: reported as a file that is not known */
	struct row *rows;
};

static int first_error(int ret, int error)
{
	return ret ? ret : error;
}

static uint64_t epoch_ns(const struct model *model, uint64_t monotonic_ns)
{
	return model->clock_start.realtime_ns + monotonic_ns - model->clock_start.monotonic_ns;
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Makes room for index. The arrays are the model's in shape only. */
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

/* Until the end of the recording, when names and ranks are decided: the program's name, and the rank that its launcher gave it. */
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

static int report_process(struct live_sink *s, uint32_t group)
{
	const struct model_group *g = &s->model->groups.v[group];
	const struct model_process *life = group < s->model->processes.n ? &s->model->processes.v[group] : NULL;
	struct live_process process = { group, g->tgid, g->rank, g->name, life ? life->executable : NULL };
	struct known_process *known;
	int ret = GROW(s->processes, group);
	char name[256];

	if (ret)
		return ret;
	name_process(&process, life, name, sizeof(name));
	known = &s->processes.v[group];
	if (known->reported && known->name == g->name && known->rank == process.rank && known->executable == process.executable)
		return 0;
	*known = (struct known_process){ g->name, process.executable, process.rank, true };
	for (size_t i = 0; i < s->noutputs; i++)
		if (s->outputs[i]->process)
			ret = first_error(ret, s->outputs[i]->process(s->outputs[i], &process));
	return ret;
}

static int report_file_as(struct live_sink *s, uint32_t id, uint32_t ref)
{
	const struct model_file *f = ref < s->model->files.n ? &s->model->files.v[ref] : NULL;
	struct live_file file = { .id = id };
	int ret = 0;

	if (f)
		file = (struct live_file){
			id, f->path, f->mount_point, f->mount_source, f->fs_type, summary_scope_name(f->scope), f->special
		};
	for (size_t i = 0; i < s->noutputs; i++)
		if (s->outputs[i]->file)
			ret = first_error(ret, s->outputs[i]->file(s->outputs[i], &file));
	return ret;
}

/* The id of the handle's file; the file is reported before its first use. */
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

/* ---- an interval ---- */

static int on_calls(void *arg, uint32_t group, const char *layer, const struct summary_calls *added)
{
	struct live_sink *s = arg;
	struct live_calls calls = { group, layer, added };
	int ret = group < s->model->groups.n ? report_process(s, group) : 0;

	for (size_t i = 0; i < s->noutputs && !ret; i++)
		if (s->outputs[i]->calls)
			ret = s->outputs[i]->calls(s->outputs[i], &s->now, &calls);
	return ret;
}

/* Handles of one file are one row. */
static int on_operations(void *arg, uint32_t group, uint32_t handle, const struct summary_counts *added)
{
	struct live_sink *s = arg;
	struct row_key key = { .process = group, .paradigm = s->model->handles.v[handle].paradigm };
	int ret = file_of(s, handle, &key.file);
	const uint64_t *from = (const uint64_t *)added;
	struct row *row;

	if (ret)
		return ret;
	HASH_FIND(hh, s->rows, &key, sizeof(key), row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->key = key;
		HASH_ADD(hh, s->rows, key, sizeof(row->key), row);
		if (!hash_added(row)) {
			free(row);
			return -ENOMEM;
		}
	}
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)&row->added)[i] += from[i];
	return 0;
}

static int report_row(struct live_sink *s, const struct row *row)
{
	struct live_operations operations = { row->key.process, row->key.file,
					      s->model->paradigms.v[row->key.paradigm].identification, &row->added };
	int ret = row->key.process < s->model->groups.n ? report_process(s, row->key.process) : 0;

	for (size_t i = 0; i < s->noutputs && !ret; i++)
		if (s->outputs[i]->operations)
			ret = s->outputs[i]->operations(s->outputs[i], &s->now, &operations);
	return ret;
}

static void free_rows(struct live_sink *s)
{
	struct row *row, *next;

	HASH_ITER(hh, s->rows, row, next) {
		HASH_DEL(s->rows, row);
		free(row);
	}
}

static int close_interval(struct live_sink *s, bool last)
{
	const struct summary_changes changes = { s, on_calls, on_operations };
	uint64_t wall = wall_ns();
	int ret;

	s->now.last = last;
	s->now.open_calls = summary_sink_open_calls(s->counter);
	s->now.lag_ns = wall > s->now.end_ns ? wall - s->now.end_ns : 0;
	ret = summary_sink_changes(s->counter, s->model, last, &changes);
	for (const struct row *row = s->rows; row && !ret; row = row->hh.next)
		ret = report_row(s, row);
	free_rows(s);
	for (size_t i = 0; i < s->noutputs && !ret; i++)
		if (s->outputs[i]->interval)
			ret = s->outputs[i]->interval(s->outputs[i], &s->now);
	return ret;
}

static int begin(struct live_sink *s, uint64_t time_ns)
{
	const struct model *m = s->model;
	struct live_job job = { m->host_name,    m->kernel,
				m->version,      m->batch_job,
				m->command_line, epoch_ns(m, m->recording_begin_ns ? m->recording_begin_ns : time_ns),
				s->interval_ns };
	uint64_t first_ns = job.begin_ns < epoch_ns(m, time_ns) ? job.begin_ns : epoch_ns(m, time_ns);
	int ret = 0;

	s->begun = true;
	s->now.number = first_ns / s->interval_ns;
	s->now.begin_ns = s->now.number * s->interval_ns;
	s->now.end_ns = s->now.begin_ns + s->interval_ns;
	for (size_t i = 0; i < s->noutputs && !ret; i++)
		if (s->outputs[i]->begin)
			ret = s->outputs[i]->begin(s->outputs[i], &job);
	return ret;
}

/* Closes the intervals that end at this time or before. */
static int advance(struct live_sink *s, const struct model *model, uint64_t time_ns)
{
	uint64_t now_ns = epoch_ns(model, time_ns);
	int ret = 0;

	s->model = model;
	if (!s->begun)
		ret = begin(s, time_ns);
	while (!ret && now_ns >= s->now.end_ns) {
		ret = close_interval(s, false);
		s->now.number++;
		s->now.begin_ns = s->now.end_ns;
		s->now.end_ns += s->interval_ns;
	}
	return ret;
}

/* ---- the sink ---- */

static int live_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct live_sink *s = (struct live_sink *)sink;
	int ret = e->type == EV_ENTER && s->begun ? 0 : advance(s, model, e->time_ns); /* an Enter may be reported with its Leave */

	return ret ? ret : s->counter->event(s->counter, model, e);
}

/* Before anything was recorded its time is not known to be the recording's. */
static int live_time(struct sink *sink, const struct model *model, uint64_t complete_ns)
{
	struct live_sink *s = (struct live_sink *)sink;

	return s->begun ? advance(s, model, complete_ns) : 0;
}

static int live_location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct live_sink *s = (struct live_sink *)sink;

	return s->counter->location_end(s->counter, model, location);
}

static int live_finish(struct sink *sink, const struct model *model)
{
	struct live_sink *s = (struct live_sink *)sink;
	struct live_end end = { model->complete, model->totals.lost_records, model->end.after_bound,
				epoch_ns(model, model->clock_end_ns), model->end.stopped_by };
	int ret = advance(s, model, model->clock_end_ns);

	if (!ret)
		ret = close_interval(s, true);
	if (!ret)
		ret = revise_files(s);
	for (size_t g = 0; g < s->processes.n && g < model->groups.n && !ret; g++)
		if (s->processes.v[g].reported)
			ret = report_process(s, g);
	for (size_t i = 0; i < s->noutputs && !ret; i++)
		if (s->outputs[i]->end)
			ret = s->outputs[i]->end(s->outputs[i], &end);
	return ret;
}

int live_sink_create(struct sink **out, struct live_output **outputs, size_t noutputs, uint64_t interval_ns)
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
	s->interval_ns = interval_ns;
	*out = &s->sink;
	return 0;
}

void live_sink_destroy(struct sink *sink)
{
	struct live_sink *s = (struct live_sink *)sink;

	if (!s)
		return;
	summary_sink_destroy(s->counter);
	free_rows(s);
	free(s->processes.v);
	free(s->files.v);
	free(s->handles.v);
	free(s);
}
