/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary for programs: one JSON object with the content of the text and exact numbers. Keys are stable; bytes of a path that
 * JSON cannot represent are written as \xHH.
 */
#include "sink/summary/summary.h"
#include "sink/summary/summary_excluded.h"
#include "sink/summary/summary_facts.h"
#include "sink/summary/summary_report.h"
#include "util/json_text.h"

#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <sys/wait.h>

static json_t *json_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Takes ownership of the value; NULL (out of memory) makes the result negative. */
static int json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static int put_counts(json_t *o, const struct summary_counts *c)
{
	return json_put(o, "reads", json_number(c->reads)) | json_put(o, "writes", json_number(c->writes)) |
	       json_put(o, "bytes_read", json_number(c->bytes_read)) | json_put(o, "bytes_written", json_number(c->bytes_written)) |
	       json_put(o, "reads_of_known_size", json_number(c->known_reads)) |
	       json_put(o, "writes_of_known_size", json_number(c->known_writes)) |
	       json_put(o, "reads_of_unknown_size", json_number(c->unknown_reads)) |
	       json_put(o, "writes_of_unknown_size", json_number(c->unknown_writes)) |
	       json_put(o, "reads_failed", json_number(c->failed_reads)) |
	       json_put(o, "writes_failed", json_number(c->failed_writes));
}

/* Counters of calls on handles: not for variables, which are parts of a handle. */
static int put_handle_counts(json_t *o, const struct summary_counts *c)
{
	return put_counts(o, c) | json_put(o, "opens", json_number(c->opens)) | json_put(o, "time_ns", json_number(c->time_ns)) |
	       json_put(o, "metadata_time_ns", json_number(c->metadata_ns));
}

static json_t *sizes_json(const uint64_t *sizes)
{
	json_t *array = json_array();

	for (int i = 0; i < SUMMARY_SIZES; i++)
		if (json_array_append_new(array, json_number(sizes[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

/* Of outermost calls, with --cpu-time. */
static int put_cpu(json_t *layer, const struct summary_cpu *c)
{
	json_t *o = json_object();
	int error = json_put(o, "calls", json_number(c->calls)) | json_put(o, "calls_unknown", json_number(c->calls_unknown)) |
		    json_put(o, "time_ns", json_number(c->time_ns)) | json_put(o, "cpu_ns", json_number(c->cpu_ns)) |
		    json_put(o, "sleep_ns", json_number(c->sleep_ns)) | json_put(o, "io_sleep_ns", json_number(c->io_sleep_ns)) |
		    json_put(o, "run_delay_ns", json_number(c->delay_ns)) |
		    json_put(o, "undivided_ns", json_number(c->undivided_ns)) |
		    json_put(o, "unknown_ns", json_number(c->unknown_ns)) | json_put(o, "user_ns", json_number(c->user_ns)) |
		    json_put(o, "system_ns", json_number(c->system_ns)) | json_put(o, "sleeps", json_number(c->sleeps));

	return json_put(layer, "outermost", o) | error;
}

static int put_between(json_t *process, const struct summary_between *b)
{
	json_t *o = json_object();
	int error = json_put(o, "cpu_ns", json_number(b->cpu_ns)) | json_put(o, "sleep_ns", json_number(b->sleep_ns)) |
		    json_put(o, "run_delay_ns", json_number(b->delay_ns)) | json_put(o, "unknown_ns", json_number(b->unknown_ns));

	return json_put(process, "between_calls", o) | error;
}

/* Only classes with calls. */
static int put_class(json_t *classes, enum model_class name, const struct summary_class *class)
{
	json_t *o;

	if (!class || (!class->calls && !class->time_ns))
		return 0;
	o = json_object();
	return json_put(o, "calls", json_number(class->calls)) | json_put(o, "failed", json_number(class->failed)) |
	       json_put(o, "time_ns", json_number(class->time_ns)) |
	       json_put(o, "longest_call_ns", json_number(class->longest_ns)) | json_put(classes, summary_class_name(name), o);
}

static int put_classes(json_t *o, const struct summary_class *v, const uint8_t *at)
{
	json_t *classes = json_object();
	int error = 0;

	for (int i = 0; i < MODEL_CLASSES; i++)
		error |= put_class(classes, i, !at ? &v[i] : at[i] ? &v[at[i] - 1] : NULL);
	return json_put(o, "classes", classes) | error;
}

static json_t *layer_json(const struct model *m, const struct summary_layer *total, const struct summary_layer *l)
{
	json_t *o = json_object();

	if (json_put(o, "name", json_text(total->name)) | json_put(o, "calls", json_number(l->calls)) |
	    json_put(o, "failed", json_number(l->failed)) | put_counts(o, &l->counts) |
	    json_put(o, "time_ns", json_number(l->time_ns)) | json_put(o, "operating_system", json_boolean(total->os)) |
	    json_put(o, "system_time_ns", total->system_known ? json_number(l->system_ns) : json_null()) |
	    json_put(o, "longest_call_ns", json_number(l->longest_ns)) | json_put(o, "read_sizes", sizes_json(l->sizes.read)) |
	    json_put(o, "write_sizes", sizes_json(l->sizes.written)) | put_classes(o, l->classes, NULL) |
	    (m->cpu_time ? put_cpu(o, &l->cpu) : 0) |
	    (total == l ? json_put(o, "recorder_time_ns", l->recorder_known ? json_number(l->recorder_ns) : json_null()) : 0)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static int put_layers(json_t *root, const struct summary_report *r)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < r->nlayers && !error; i++)
		error = json_array_append_new(array, layer_json(r->model, &r->layers[i], &r->layers[i]));
	return json_put(root, "layers", array) | error;
}

/* ---- processes ---- */

/* JSON null for an unknown time; others are relative to the begin of the recording. */
static json_t *json_moment(const struct model *m, uint64_t time_ns)
{
	return !time_ns ? json_null() : json_number(time_ns > summary_begin_ns(m) ? time_ns - summary_begin_ns(m) : 0);
}

static json_t *user_name(const struct model_process *life)
{
	const struct passwd *entry = life->has_uid ? getpwuid(life->uid) : NULL;

	return json_text(entry ? entry->pw_name : NULL);
}

static int put_life(json_t *o, const struct model *m, const struct model_process *life, size_t group)
{
	json_t *programs = json_array();
	int error = json_put(o, "parent_pid", life->ppid ? json_number(life->ppid) : json_null()) |
		    json_put(o, "executable", json_text(life->executable)) |
		    json_put(o, "command_line", json_text(life->command_line)) |
		    json_put(o, "working_directory", json_text(life->directory)) |
		    json_put(o, "uid", life->has_uid ? json_number(life->uid) : json_null()) |
		    json_put(o, "user", user_name(life)) |
		    json_put(o, "probe_hits", life->has_probe_hits ? json_number(life->probe_hits) : json_null()) |
		    json_put(o, "batch_job", json_text(life->batch_job)) |
		    json_put(o, "was_running", json_boolean(life->was_running)) |
		    json_put(o, "begin_ns", json_moment(m, life->begin_ns)) | json_put(o, "end_ns", json_moment(m, life->end_ns)) |
		    json_put(o, "exit_status",
			     life->has_status && WIFEXITED(life->status) ? json_number(WEXITSTATUS(life->status)) : json_null()) |
		    json_put(o, "signal",
			     life->has_status && WIFSIGNALED(life->status) ? json_number(WTERMSIG(life->status)) : json_null());

	for (size_t i = 0; i < m->programs.n; i++) {
		const struct model_program *program = &m->programs.v[i];
		json_t *entry = program->group == group ? json_object() : NULL;

		if (program->group != group)
			continue;
		error |= json_put(entry, "path", json_text(program->path)) |
			 json_put(entry, "begin_ns", json_moment(m, program->begin_ns));
		error |= json_array_append_new(programs, entry);
	}
	return json_put(o, "programs", programs) | error;
}

static json_t *process_json(const struct summary_report *r, size_t i)
{
	const struct model *m = r->model;
	const struct summary_process *p = &r->processes[i];
	const struct model_group *group = &m->groups.v[i];
	json_t *o = json_object(), *layers = json_array();
	int error = json_put(o, "index", json_number(i)) | json_put(o, "pid", json_number(group->tgid)) |
		    json_put(o, "name", json_text(group->name)) |
		    json_put(o, "rank", group->rank >= 0 ? json_integer(group->rank) : json_null()) |
		    json_put(o, "job", group->rank >= 0 ? json_number(group->job) : json_null()) |
		    json_put(o, "launch", json_text(group->launch)) |
		    json_put(o, "wall_time_ns", json_number(p->end_ns - p->begin_ns)) |
		    json_put(o, "io_time_ns", json_number(p->io_ns)) | json_put(o, "threads", json_number(p->threads)) |
		    json_put(o, "calls", json_number(p->calls)) |
		    json_put(o, "recorder_time_ns", p->recorder_known ? json_number(p->recorder_ns) : json_null());

	if (i < m->processes.n)
		error |= put_life(o, m, &m->processes.v[i], i);
	for (size_t l = 0; l < r->nlayers; l++)
		if (r->layers[l].index < p->nlayers &&
		    (p->layers[r->layers[l].index].calls || summary_activity(&p->layers[r->layers[l].index].counts)))
			error |= json_array_append_new(layers, layer_json(m, &r->layers[l], &p->layers[r->layers[l].index]));
	error |= json_put(o, "layers", layers);
	error |= summary_put_process_excluded(o, m, i);
	if (m->cpu_time)
		error |= put_between(o, &p->between);
	if (!error)
		return o;
	json_decref(o);
	return NULL;
}

/* ---- files ---- */

static int put_part(json_t *processes, const struct summary_report *r, const struct summary_part *part)
{
	const struct model_group *group = part->group < r->model->groups.n ? &r->model->groups.v[part->group] : NULL;
	json_t *o = json_object();
	int error = json_put(o, "process", json_number(part->group)) |
		    json_put(o, "rank", group && group->rank >= 0 ? json_integer(group->rank) : json_null()) |
		    put_handle_counts(o, &part->counts) | json_put(o, "longest_call_ns", json_number(part->longest_ns)) |
		    put_classes(o, part->classes->v, part->classes->at);

	return json_array_append_new(processes, o) | error;
}

/* Writes the parts of one layer; returns their number. */
static size_t put_file_layer(json_t *layers, const struct summary_report *r, size_t first, size_t end, int *error)
{
	json_t *o = json_object(), *processes = json_array();
	struct summary_counts sum = { 0 };
	size_t i = first;

	for (; i < end && r->parts[i].paradigm == r->parts[first].paradigm; i++) {
		*error |= put_part(processes, r, &r->parts[i]);
		summary_add(&sum, &r->parts[i].counts);
	}
	*error |= json_put(o, "name", json_text(r->model->paradigms.v[r->parts[first].paradigm].identification)) |
		put_handle_counts(o, &sum) |
		  json_put(o, "processes", processes);
	*error |= json_array_append_new(layers, o);
	return i - first;
}

static json_t *file_json(const struct summary_report *r, size_t index)
{
	const struct summary_file *f = &r->files[index];
	const struct model_file *file = f->file != REF_NONE ? &r->model->files.v[f->file] : NULL;
	json_t *o = json_object(), *layers = json_array();
	int error = json_put(o, "path", json_text(file ? file->path : NULL)) |
		    json_put(o, "directory", json_boolean(file && file->directory)) |
		    json_put(o, "mount_point", json_text(file ? file->mount_point : NULL)) |
		    json_put(o, "mount_source", json_text(file ? file->mount_source : NULL)) |
		    json_put(o, "file_system", json_text(file ? file->fs_type : NULL)) |
		    json_put(o, "block_size", file && file->block_bytes ? json_number(file->block_bytes) : json_null()) |
		    summary_put_stripes(o, file ? &file->stripes : &(const struct model_stripes){ 0 }) |
		    json_put(o, "inodes", file && file->inodes ? json_number(file->inodes) : json_null()) |
		    json_put(o, "scope", json_text(file ? summary_scope_name(file->scope) : "unknown")) |
		    json_put(o, "layer", json_text(r->model->paradigms.v[f->paradigm].identification)) |
		    put_handle_counts(o, &f->counts) | json_put(o, "longest_time_ns", json_number(f->time_ns));

	for (size_t i = 0; i < f->nparts;)
		i += put_file_layer(layers, r, f->first + i, f->first + f->nparts, &error);
	error |= json_put(o, "layers", layers) | json_put(o, "facts", summary_facts_json(r->model, f->file));
	if (!error)
		return o;
	json_decref(o);
	return NULL;
}

/* ---- code ---- */

static json_t *code_file_json(const struct summary_report *r, size_t index)
{
	const struct model_code_file *file = &r->model->code_files.v[index];
	json_t *o = json_object();

	if (!(json_put(o, "path", json_text(file->path)) | json_put(o, "build_id", json_text(file->build_id)) |
	      json_put(o, "device", json_number(file->dev)) | json_put(o, "inode", json_number(file->ino)) |
	      json_put(o, "deleted", json_boolean(file->deleted))))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *mapping_json(const struct summary_report *r, size_t index)
{
	const struct model_mapping *mapping = &r->model->mappings.v[index];
	json_t *o = json_object();

	if (!(json_put(o, "process", json_number(mapping->group)) | json_put(o, "code_file", json_number(mapping->code_file)) |
	      json_put(o, "start", json_sprintf("0x%llx", (unsigned long long)mapping->start)) |
	      json_put(o, "end", json_sprintf("0x%llx", (unsigned long long)mapping->end)) |
	      json_put(o, "offset", json_sprintf("0x%llx", (unsigned long long)mapping->offset)) |
	      json_put(o, "since_ns", json_moment(r->model, mapping->since_ns)) |
	      json_put(o, "noted_ns", json_moment(r->model, mapping->noted_ns))))
		return o;
	json_decref(o);
	return NULL;
}

static int put_special(json_t *root, const struct summary_report *r)
{
	json_t *o = json_object();
	int error = json_put(o, "count", json_number(r->nspecial)) | put_counts(o, &r->special);

	return json_put(root, "pipes_and_sockets", o) | error;
}

/* Omitted without --mmap-faults. */
static int put_mapped(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->files.n && !error; i++) {
		const struct model_file *f = &m->files.v[i];
		json_t *o = f->mapped ? json_object() : NULL;

		if (!f->mapped)
			continue;
		error = json_put(o, "path", json_text(f->path)) | json_put(o, "read_faults", json_number(f->read_faults)) |
			json_put(o, "write_faults", json_number(f->write_faults)) |
			json_put(o, "pages_written_back", json_number(f->pages_written_back));
		error |= json_array_append_new(array, o);
	}
	if (json_array_size(array))
		return json_put(root, "mapped_files", array) | error;
	json_decref(array);
	return error;
}

/* Files with shared, writable mappings, whether or not faults were counted; omitted if there are none. */
static int put_writable(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->files.n && !error; i++) {
		const struct model_file *f = &m->files.v[i];
		json_t *o = f->writable_bytes && !f->special ? json_object() : NULL;

		if (!o)
			continue;
		error = json_put(o, "path", json_text(f->path)) | json_put(o, "bytes", json_number(f->writable_bytes));
		error |= json_array_append_new(array, o);
	}
	if (json_array_size(array))
		return json_put(root, "writable_mappings", array) | error;
	json_decref(array);
	return error;
}

/* Omitted without --device. */
static int put_device(json_t *root, const struct model *m)
{
	const struct model_totals *t = &m->totals;
	json_t *o;
	int error;

	if (!m->device && !t->device_calls)
		return 0;
	o = json_object();
	error = json_put(o, "system_calls", json_number(t->system_calls)) |
		json_put(o, "not_from_memory", json_number(t->device_calls)) |
		json_put(o, "bytes_read", json_number(t->device_bytes)) | json_put(o, "wait_ns", json_number(t->device_wait_ns));
	return json_put(root, "device", o) | error;
}

static int put_objects(json_t *root, const struct summary_report *r)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < r->nobjects && !error; i++) {
		const struct summary_object *object = &r->objects[i];
		json_t *o = json_object();

		error = json_put(o, "name", json_text(object->name)) |
			json_put(o, "file",
				 json_text(object->file != REF_NONE ? r->model->files.v[object->file].path : NULL)) |
			json_put(o, "layer", json_text(r->model->paradigms.v[object->paradigm].identification)) |
			put_counts(o, &object->counts);
		error |= json_array_append_new(array, o);
	}
	return json_put(root, "objects", array) | json_put(root, "objects_total", json_number(r->objects_total)) | error;
}

static json_t *cost_json(uint64_t ns)
{
	return ns == MODEL_COST_UNKNOWN ? json_null() : json_number(ns);
}

static int put_costs(json_t *root, const struct model *m)
{
	json_t *o = json_object(), *layers = json_array();
	int error = json_put(o, "measured", json_boolean(m->costs.n)) | json_put(o, "nested_ns", json_number(m->nested_cost_ns)) |
		    json_put(o, "single_step_ns", json_number(m->single_step_cost_ns));

	for (size_t i = 0; i < m->costs.n; i++) {
		json_t *layer = json_object();

		error |= json_put(layer, "layer", json_text(m->costs.v[i].layer)) |
			 json_put(layer, "call_ns", json_number(m->costs.v[i].total_ns)) |
			 json_put(layer, "inside_ns", json_number(m->costs.v[i].inside_ns)) |
			 json_put(layer, "entry_return_ns", cost_json(m->costs.v[i].entry_return_ns)) |
			 json_put(layer, "record_ns", cost_json(m->costs.v[i].record_ns)) |
			 json_put(layer, "site_ns", cost_json(m->costs.v[i].site_ns));
		error |= json_array_append_new(layers, layer);
	}
	return json_put(o, "layers", layers) | json_put(root, "recorder_costs", o) | error;
}

/* The sums of the layers, as the text has them. */
static uint64_t unknown_sizes(const struct summary_report *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nlayers; i++)
		sum += r->layers[i].counts.unknown_reads + r->layers[i].counts.unknown_writes;
	return sum;
}

static uint64_t failed_calls(const struct summary_report *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nlayers; i++)
		sum += r->layers[i].failed;
	return sum;
}

static int put_losses(json_t *root, const struct summary_report *r)
{
	const struct model_totals *t = &r->model->totals;
	const struct model_end *end = &r->model->end;
	json_t *notes = json_array();
	int error = 0;

	for (size_t i = 0; i < r->model->ndigest; i++)
		error |= json_array_append_new(notes, json_text(r->model->digest[i]));
	return error | json_put(root, "complete", json_boolean(r->model->complete)) |
	       json_put(root, "stopped_by", json_text(end->stopped_by)) |
	       json_put(root, "end_reason", json_text(end->reason)) |
	       json_put(root, "records_after_bound", json_number(end->after_bound)) |
	       json_put(root, "calls", json_number(t->calls)) | json_put(root, "failed_calls", json_number(failed_calls(r))) |
	       json_put(root, "records_lost", json_number(t->lost_records)) |
	       json_put(root, "records_lost_exact", json_boolean(r->model->complete)) |
	       json_put(root, "records_late", json_number(t->late_records)) |
	       json_put(root, "calls_abandoned", json_number(t->abandoned)) |
	       json_put(root, "calls_open", json_number(r->open_calls)) |
	       json_put(root, "operations_open", json_number(r->open_operations)) |
	       json_put(root, "events_unmatched", json_number(r->unmatched)) |
	       json_put(root, "sizes_unknown", json_number(unknown_sizes(r))) |
	       json_put(root, "returns_without_frame", json_number(t->returns_without_frame)) |
	       json_put(root, "frames_too_deep", json_number(t->frames_too_deep)) |
	       json_put(root, "facts_unknown", json_number(t->facts_unknown)) |
	       json_put(root, "facts_beyond", json_number(t->facts_beyond)) | json_put(root, "notes", notes);
}

/* Moments count from the begin of the recording, like all others. */
static int put_clock_steps(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->clock_steps.n; i++) {
		const struct model_clock_step *step = &m->clock_steps.v[i];
		json_t *o = json_object();

		error |= json_put(o, "step_ns", json_integer(step->step_ns)) |
			 json_put(o, "since_ns", json_moment(m, step->since_ns)) |
			 json_put(o, "until_ns", json_moment(m, step->at.monotonic_ns)) |
			 json_put(o, "realtime_ns", json_number(step->at.realtime_ns));
		error |= json_array_append_new(array, o);
	}
	return json_put(root, "clock_steps", array) | error;
}

static int put_head(json_t *root, const struct summary_report *r)
{
	const struct model *m = r->model;
	uint64_t duration = m->clock_end_ns > m->clock_begin_ns ? m->clock_end_ns - m->clock_begin_ns : 0;

	return json_put(root, "schema", json_string(SUMMARY_SCHEMA)) | json_put(root, "version", json_text(m->version)) |
	       json_put(root, "host", json_text(m->host_name)) | json_put(root, "machine", json_text(m->machine_name)) |
	       json_put(root, "kernel", json_text(m->kernel)) |
	       json_put(root, "command_line", json_text(m->command_line)) |
	       json_put(root, "batch_job", json_text(m->batch_job)) |
	       json_put(root, "begin_realtime_ns", m->realtime_at_begin_ns ? json_number(m->realtime_at_begin_ns) : json_null()) |
	       put_clock_steps(root, m) | json_put(root, "duration_ns", json_number(duration)) |
	       json_put(root, "ranks", json_number(r->ranks)) | json_put(root, "jobs", json_number(m->njobs)) |
	       json_put(root, "processes", json_number(r->nprocesses)) | json_put(root, "threads", json_number(r->threads));
}

/* ---- writing: lists may be long, so their entries are written and freed one by one ---- */

static int json_dump(FILE *out, json_t *value, size_t flags)
{
	int error = !value ? -ENOMEM : json_dumpf(value, out, flags | JSON_ENCODE_ANY) ? write_error() : 0;

	json_decref(value);
	return error;
}

static int dump_members(FILE *out, json_t *root)
{
	const char *key;
	json_t *value;
	int error = 0;

	json_object_foreach(root, key, value) {
		if (error || fprintf(out, "  \"%s\": ", key) < 0)
			return error ? error : write_error();
		error = json_dump(out, json_incref(value), JSON_INDENT(2));
		if (!error && fputs(",\n", out) == EOF)
			error = write_error();
	}
	return error;
}

static int dump_list(FILE *out, const char *key, const struct summary_report *r, size_t n,
		     json_t *(*entry)(const struct summary_report *r, size_t index))
{
	int error = fprintf(out, "  \"%s\": [", key) < 0 ? write_error() : 0;

	for (size_t i = 0; i < n && !error; i++) {
		if (fputs(i ? ",\n    " : "\n    ", out) == EOF)
			error = write_error();
		if (!error)
			error = json_dump(out, entry(r, i), JSON_COMPACT);
	}
	return !error && fputs(n ? "\n  ]" : "]", out) == EOF ? write_error() : error;
}

static int dump_lists(FILE *out, const struct summary_report *r)
{
	const struct { const char *key; size_t n; json_t *(*entry)(const struct summary_report *r, size_t index); } lists[] = {
		{ "process_list", r->processes ? r->model->groups.n : 0, process_json }, { "files", r->nfiles, file_json },
		{ "code_files", r->model->code_files.n, code_file_json }, { "mappings", r->model->mappings.n, mapping_json },
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !error; i++) {
		if (i && fputs(",\n", out) == EOF)
			error = write_error();
		if (!error)
			error = dump_list(out, lists[i].key, r, lists[i].n, lists[i].entry);
	}
	return error;
}

int summary_json_write(FILE *out, const struct summary_report *r)
{
	json_t *root = json_object();
	int error = put_head(root, r) | put_layers(root, r) | json_put(root, "files_total", json_number(r->nfiles)) |
		    put_special(root, r) | put_objects(root, r) | put_mapped(root, r->model) | put_writable(root, r->model) |
		    put_device(root, r->model) | put_losses(root, r) |
		    summary_put_excluded(root, r->model) | put_costs(root, r->model) |
		    json_put(root, "names", summary_names_json(r->names, r->model)) |
		    json_put(root, "call_sites", summary_sites_json(r->sites, r->model));

	error = error ? -ENOMEM : 0;
	errno = 0;
	if (!error && fputs("{\n", out) == EOF)
		error = write_error();
	if (!error)
		error = dump_members(out, root);
	json_decref(root);
	if (!error)
		error = dump_lists(out, r);
	if (!error && fputs("\n}\n", out) == EOF)
		error = write_error();
	return error;
}
