/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary for programs: one JSON object with the content of the text and exact numbers. Keys are stable; bytes of a path that
 * JSON cannot represent are written as \xHH.
 */
#include "sink/summary/summary.h"
#include "sink/summary/summary_facts.h"
#include "sink/summary/summary_report.h"
#include "util/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>

static json_t *text(const char *value)
{
	char *printable = value ? utf8_printable(value) : NULL;
	json_t *json = printable ? json_string(printable) : value ? NULL : json_null();

	free(printable);
	return json;
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Takes ownership of the value; NULL (out of memory) makes the result negative. */
static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static int put_counts(json_t *o, const struct summary_counts *c)
{
	return put(o, "reads", number(c->reads)) | put(o, "writes", number(c->writes)) |
	       put(o, "bytes_read", number(c->bytes_read)) | put(o, "bytes_written", number(c->bytes_written)) |
	       put(o, "reads_of_known_size", number(c->known_reads)) |
	       put(o, "writes_of_known_size", number(c->known_writes)) |
	       put(o, "reads_of_unknown_size", number(c->unknown_reads)) |
	       put(o, "writes_of_unknown_size", number(c->unknown_writes)) |
	       put(o, "reads_failed", number(c->failed_reads)) | put(o, "writes_failed", number(c->failed_writes));
}

/* Counters of calls on handles: not for variables, which are parts of a handle. */
static int put_handle_counts(json_t *o, const struct summary_counts *c)
{
	return put_counts(o, c) | put(o, "opens", number(c->opens)) | put(o, "time_ns", number(c->time_ns)) |
	       put(o, "metadata_time_ns", number(c->metadata_ns));
}

static json_t *sizes_json(const uint64_t *sizes)
{
	json_t *array = json_array();

	for (int i = 0; i < SUMMARY_SIZES; i++)
		if (json_array_append_new(array, number(sizes[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

/* Of outermost calls, with --cpu-time. */
static int put_cpu(json_t *layer, const struct summary_cpu *c)
{
	json_t *o = json_object();
	int error = put(o, "calls", number(c->calls)) | put(o, "calls_unknown", number(c->calls_unknown)) |
		    put(o, "time_ns", number(c->time_ns)) | put(o, "cpu_ns", number(c->cpu_ns)) |
		    put(o, "sleep_ns", number(c->sleep_ns)) |
		    put(o, "io_sleep_ns", number(c->io_sleep_ns)) | put(o, "run_delay_ns", number(c->delay_ns)) |
		    put(o, "undivided_ns", number(c->undivided_ns)) | put(o, "unknown_ns", number(c->unknown_ns)) |
		    put(o, "user_ns", number(c->user_ns)) | put(o, "system_ns", number(c->system_ns)) |
		    put(o, "sleeps", number(c->sleeps));

	return put(layer, "outermost", o) | error;
}

static int put_between(json_t *process, const struct summary_between *b)
{
	json_t *o = json_object();
	int error = put(o, "cpu_ns", number(b->cpu_ns)) | put(o, "sleep_ns", number(b->sleep_ns)) |
		    put(o, "run_delay_ns", number(b->delay_ns)) | put(o, "unknown_ns", number(b->unknown_ns));

	return put(process, "between_calls", o) | error;
}

/* Only classes with calls. */
static int put_class(json_t *classes, enum model_class name, const struct summary_class *class)
{
	json_t *o;

	if (!class || (!class->calls && !class->time_ns))
		return 0;
	o = json_object();
	return put(o, "calls", number(class->calls)) | put(o, "failed", number(class->failed)) |
	       put(o, "time_ns", number(class->time_ns)) | put(o, "longest_call_ns", number(class->longest_ns)) |
	       put(classes, summary_class_name(name), o);
}

static int put_classes(json_t *o, const struct summary_class *v, const uint8_t *at)
{
	json_t *classes = json_object();
	int error = 0;

	for (int i = 0; i < MODEL_CLASSES; i++)
		error |= put_class(classes, i, !at ? &v[i] : at[i] ? &v[at[i] - 1] : NULL);
	return put(o, "classes", classes) | error;
}

static json_t *layer_json(const struct model *m, const struct summary_layer *total, const struct summary_layer *l)
{
	json_t *o = json_object();

	if (put(o, "name", text(total->name)) | put(o, "calls", number(l->calls)) | put(o, "failed", number(l->failed)) |
	    put_counts(o, &l->counts) | put(o, "time_ns", number(l->time_ns)) |
	    put(o, "operating_system", json_boolean(total->os)) |
	    put(o, "system_time_ns", total->system_known ? number(l->system_ns) : json_null()) |
	    put(o, "longest_call_ns", number(l->longest_ns)) | put(o, "read_sizes", sizes_json(l->sizes.read)) |
	    put(o, "write_sizes", sizes_json(l->sizes.written)) | put_classes(o, l->classes, NULL) |
	    (m->cpu_time ? put_cpu(o, &l->cpu) : 0) |
	    (total == l ? put(o, "recorder_time_ns", l->recorder_known ? number(l->recorder_ns) : json_null()) : 0)) {
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
	return put(root, "layers", array) | error;
}

/* ---- processes ---- */

/* JSON null for an unknown time; others are relative to the begin of the recording. */
static json_t *moment(const struct model *m, uint64_t time_ns)
{
	return !time_ns ? json_null() : number(time_ns > summary_begin_ns(m) ? time_ns - summary_begin_ns(m) : 0);
}

static json_t *user_name(const struct model_process *life)
{
	const struct passwd *entry = life->has_uid ? getpwuid(life->uid) : NULL;

	return text(entry ? entry->pw_name : NULL);
}

static int put_life(json_t *o, const struct model *m, const struct model_process *life, size_t group)
{
	json_t *programs = json_array();
	int error = put(o, "parent_pid", life->ppid ? number(life->ppid) : json_null()) |
		put(o, "executable", text(life->executable)) |
		    put(o, "command_line", text(life->command_line)) | put(o, "working_directory", text(life->directory)) |
		    put(o, "uid", life->has_uid ? number(life->uid) : json_null()) | put(o, "user", user_name(life)) |
		    put(o, "probe_hits", life->has_probe_hits ? number(life->probe_hits) : json_null()) |
		    put(o, "batch_job", text(life->batch_job)) | put(o, "was_running", json_boolean(life->was_running)) |
		    put(o, "begin_ns", moment(m, life->begin_ns)) | put(o, "end_ns", moment(m, life->end_ns)) |
		    put(o, "exit_status", life->has_status &&
			WIFEXITED(life->status) ? number(WEXITSTATUS(life->status)) : json_null()) |
		    put(o, "signal", life->has_status && WIFSIGNALED(life->status) ? number(WTERMSIG(life->status)) : json_null());

	for (size_t i = 0; i < m->programs.n; i++) {
		const struct model_program *program = &m->programs.v[i];
		json_t *entry = program->group == group ? json_object() : NULL;

		if (program->group != group)
			continue;
		error |= put(entry, "path", text(program->path)) | put(entry, "begin_ns", moment(m, program->begin_ns));
		error |= json_array_append_new(programs, entry);
	}
	return put(o, "programs", programs) | error;
}

static json_t *process_json(const struct summary_report *r, size_t i)
{
	const struct model *m = r->model;
	const struct summary_process *p = &r->processes[i];
	const struct model_group *group = &m->groups.v[i];
	json_t *o = json_object(), *layers = json_array();
	int error = put(o, "index", number(i)) | put(o, "pid", number(group->tgid)) | put(o, "name", text(group->name)) |
		    put(o, "rank", group->rank >= 0 ? json_integer(group->rank) : json_null()) |
		    put(o, "job", group->rank >= 0 ? number(group->job) : json_null()) | put(o, "launch", text(group->launch)) |
		    put(o, "wall_time_ns", number(p->end_ns - p->begin_ns)) | put(o, "io_time_ns", number(p->io_ns)) |
		    put(o, "threads", number(p->threads)) | put(o, "calls", number(p->calls)) |
		    put(o, "recorder_time_ns", p->recorder_known ? number(p->recorder_ns) : json_null());

	if (i < m->processes.n)
		error |= put_life(o, m, &m->processes.v[i], i);
	for (size_t l = 0; l < r->nlayers; l++)
		if (r->layers[l].index < p->nlayers &&
		    (p->layers[r->layers[l].index].calls || summary_activity(&p->layers[r->layers[l].index].counts)))
			error |= json_array_append_new(layers, layer_json(m, &r->layers[l], &p->layers[r->layers[l].index]));
	error |= put(o, "layers", layers);
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
	int error = put(o, "process", number(part->group)) |
		    put(o, "rank", group && group->rank >= 0 ? json_integer(group->rank) : json_null()) |
		    put_handle_counts(o, &part->counts) | put(o, "longest_call_ns", number(part->longest_ns)) |
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
	*error |= put(o, "name", text(r->model->paradigms.v[r->parts[first].paradigm].identification)) |
		put_handle_counts(o, &sum) |
		  put(o, "processes", processes);
	*error |= json_array_append_new(layers, o);
	return i - first;
}

static json_t *file_json(const struct summary_report *r, size_t index)
{
	const struct summary_file *f = &r->files[index];
	const struct model_file *file = f->file != REF_NONE ? &r->model->files.v[f->file] : NULL;
	json_t *o = json_object(), *layers = json_array();
	int error = put(o, "path", text(file ? file->path : NULL)) | put(o, "directory", json_boolean(file && file->directory)) |
		    put(o, "mount_point", text(file ? file->mount_point : NULL)) |
		    put(o, "mount_source", text(file ? file->mount_source : NULL)) |
		    put(o, "file_system", text(file ? file->fs_type : NULL)) |
		    put(o, "block_size", file && file->block_bytes ? number(file->block_bytes) : json_null()) |
		    put(o, "inodes", file && file->inodes ? number(file->inodes) : json_null()) |
		    put(o, "scope", text(file ? summary_scope_name(file->scope) : "unknown")) |
		    put(o, "layer", text(r->model->paradigms.v[f->paradigm].identification)) | put_handle_counts(o, &f->counts) |
		    put(o, "longest_time_ns", number(f->time_ns));

	for (size_t i = 0; i < f->nparts;)
		i += put_file_layer(layers, r, f->first + i, f->first + f->nparts, &error);
	error |= put(o, "layers", layers) | put(o, "facts", summary_facts_json(r->model, f->file));
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

	if (!(put(o, "path", text(file->path)) | put(o, "build_id", text(file->build_id)) | put(o, "device", number(file->dev)) |
	      put(o, "inode", number(file->ino)) | put(o, "deleted", json_boolean(file->deleted))))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *mapping_json(const struct summary_report *r, size_t index)
{
	const struct model_mapping *mapping = &r->model->mappings.v[index];
	json_t *o = json_object();

	if (!(put(o, "process", number(mapping->group)) | put(o, "code_file", number(mapping->code_file)) |
	      put(o, "start", json_sprintf("0x%llx", (unsigned long long)mapping->start)) |
	      put(o, "end", json_sprintf("0x%llx", (unsigned long long)mapping->end)) |
	      put(o, "offset", json_sprintf("0x%llx", (unsigned long long)mapping->offset)) |
	      put(o, "since_ns", moment(r->model, mapping->since_ns)) | put(o, "noted_ns", moment(r->model, mapping->noted_ns))))
		return o;
	json_decref(o);
	return NULL;
}

static int put_special(json_t *root, const struct summary_report *r)
{
	json_t *o = json_object();
	int error = put(o, "count", number(r->nspecial)) | put_counts(o, &r->special);

	return put(root, "pipes_and_sockets", o) | error;
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
		error = put(o, "path", text(f->path)) | put(o, "read_faults", number(f->read_faults)) |
			put(o, "write_faults", number(f->write_faults)) |
			put(o, "pages_written_back", number(f->pages_written_back));
		error |= json_array_append_new(array, o);
	}
	if (json_array_size(array))
		return put(root, "mapped_files", array) | error;
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
		error = put(o, "path", text(f->path)) | put(o, "bytes", number(f->writable_bytes));
		error |= json_array_append_new(array, o);
	}
	if (json_array_size(array))
		return put(root, "writable_mappings", array) | error;
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
	error = put(o, "system_calls", number(t->system_calls)) | put(o, "not_from_memory", number(t->device_calls)) |
		put(o, "bytes_read", number(t->device_bytes)) | put(o, "wait_ns", number(t->device_wait_ns));
	return put(root, "device", o) | error;
}

static int put_objects(json_t *root, const struct summary_report *r)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < r->nobjects && !error; i++) {
		const struct summary_object *object = &r->objects[i];
		json_t *o = json_object();

		error = put(o, "name", text(object->name)) |
			put(o, "file", text(object->file != REF_NONE ? r->model->files.v[object->file].path : NULL)) |
			put(o, "layer", text(r->model->paradigms.v[object->paradigm].identification)) |
			put_counts(o, &object->counts);
		error |= json_array_append_new(array, o);
	}
	return put(root, "objects", array) | put(root, "objects_total", number(r->objects_total)) | error;
}

static int put_costs(json_t *root, const struct model *m)
{
	json_t *o = json_object(), *layers = json_array();
	int error = put(o, "measured", json_boolean(m->costs.n)) | put(o, "nested_ns", number(m->nested_cost_ns)) |
		    put(o, "single_step_ns", number(m->single_step_cost_ns));

	for (size_t i = 0; i < m->costs.n; i++) {
		json_t *layer = json_object();

		error |= put(layer, "layer", text(m->costs.v[i].layer)) | put(layer, "call_ns", number(m->costs.v[i].total_ns)) |
			 put(layer, "inside_ns", number(m->costs.v[i].inside_ns));
		error |= json_array_append_new(layers, layer);
	}
	return put(o, "layers", layers) | put(root, "recorder_costs", o) | error;
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
		error |= json_array_append_new(notes, text(r->model->digest[i]));
	return error | put(root, "complete", json_boolean(r->model->complete)) | put(root, "stopped_by", text(end->stopped_by)) |
	       put(root, "end_reason", text(end->reason)) | put(root, "records_after_bound", number(end->after_bound)) |
	       put(root, "calls", number(t->calls)) |
	       put(root, "failed_calls", number(failed_calls(r))) | put(root, "records_lost", number(t->lost_records)) |
	       put(root, "records_lost_exact", json_boolean(r->model->complete)) |
	       put(root, "records_late", number(t->late_records)) | put(root, "calls_abandoned", number(t->abandoned)) |
	       put(root, "calls_open", number(r->open_calls)) |
	       put(root, "operations_open", number(r->open_operations)) |
	       put(root, "events_unmatched", number(r->unmatched)) | put(root, "sizes_unknown", number(unknown_sizes(r))) |
	       put(root, "returns_without_frame", number(t->returns_without_frame)) |
	       put(root, "frames_too_deep", number(t->frames_too_deep)) | put(root, "facts_unknown", number(t->facts_unknown)) |
	       put(root, "facts_beyond", number(t->facts_beyond)) | put(root, "notes", notes);
}

static int put_excluded(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->excluded.n && !error; i++) {
		const struct model_excluded *l = &m->excluded.v[i];
		json_t *o = json_object();

		error = put(o, "filter", text(l->filter)) | put(o, "layer", text(l->layer)) |
			put(o, "whole_layer", json_boolean(l->whole));
		if (!l->whole)
			error |= put(o, "calls", number(l->calls)) | put(o, "bytes_read", number(l->read_bytes)) |
				 put(o, "bytes_written", number(l->written_bytes)) |
				 put(o, "calls_of_unknown_size", number(l->unknown)) | put(o, "time_ns", number(l->time_ns));
		error |= json_array_append_new(array, o);
	}
	return put(root, "left_out", array) | error;
}

/* Moments count from the begin of the recording, like all others. */
static int put_clock_steps(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->clock_steps.n; i++) {
		const struct model_clock_step *step = &m->clock_steps.v[i];
		json_t *o = json_object();

		error |= put(o, "step_ns", json_integer(step->step_ns)) | put(o, "since_ns", moment(m, step->since_ns)) |
			 put(o, "until_ns", moment(m, step->at.monotonic_ns)) | put(o, "realtime_ns", number(step->at.realtime_ns));
		error |= json_array_append_new(array, o);
	}
	return put(root, "clock_steps", array) | error;
}

static int put_head(json_t *root, const struct summary_report *r)
{
	const struct model *m = r->model;
	uint64_t duration = m->clock_end_ns > m->clock_begin_ns ? m->clock_end_ns - m->clock_begin_ns : 0;

	return put(root, "schema", json_string(SUMMARY_SCHEMA)) | put(root, "version", text(m->version)) |
		put(root, "host", text(m->host_name)) |
	       put(root, "machine", text(m->machine_name)) | put(root, "kernel", text(m->kernel)) |
	       put(root, "command_line", text(m->command_line)) | put(root, "batch_job", text(m->batch_job)) |
	       put(root, "begin_realtime_ns", m->realtime_at_begin_ns ? number(m->realtime_at_begin_ns) : json_null()) |
	       put_clock_steps(root, m) |
	       put(root, "duration_ns", number(duration)) | put(root, "ranks", number(r->ranks)) |
	       put(root, "jobs", number(m->njobs)) |
	       put(root, "processes", number(r->nprocesses)) | put(root, "threads", number(r->threads));
}

/* ---- writing: lists may be long, so their entries are written and freed one by one ---- */

static int dump(FILE *out, json_t *value, size_t flags)
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
		error = dump(out, json_incref(value), JSON_INDENT(2));
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
			error = dump(out, entry(r, i), JSON_COMPACT);
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
	int error = put_head(root, r) | put_layers(root, r) | put(root, "files_total", number(r->nfiles)) | put_special(root, r) |
		    put_objects(root, r) | put_mapped(root, r->model) | put_writable(root, r->model) | put_device(root, r->model) |
		    put_losses(root, r) |
		    put_excluded(root, r->model) | put_costs(root, r->model) | put(root, "names", summary_names_json(r->names,
			    r->model)) |
		    put(root, "call_sites", summary_sites_json(r->sites, r->model));

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
