/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary for programs: one JSON object with the text's content and exact numbers. Keys are stable; bytes that JSON cannot
 * carry in a path are written as \xHH.
 */
#include "sink/summary/summary_report.h"
#include "util/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

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

/* Takes the value; a NULL one (out of memory) makes the result negative. */
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
	       put(o, "writes_of_unknown_size", number(c->unknown_writes));
}

static int put_layers(json_t *root, const struct summary_report *r)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < r->nlayers && !error; i++) {
		const struct summary_layer *l = &r->layers[i];
		json_t *o = json_object();

		error = put(o, "name", text(l->name)) | put(o, "calls", number(l->calls)) | put(o, "failed", number(l->failed)) |
			put_counts(o, &l->counts) | put(o, "time_ns", number(l->time_ns)) |
			put(o, "operating_system", json_boolean(l->os)) |
			put(o, "system_time_ns", l->system_known ? number(l->system_ns) : json_null());
		error |= json_array_append_new(array, o);
	}
	return put(root, "layers", array) | error;
}

static int put_special(json_t *root, const struct summary_report *r)
{
	json_t *o = json_object();
	int error = put(o, "count", number(r->nspecial)) | put_counts(o, &r->special);

	return put(root, "pipes_and_sockets", o) | error;
}

static int put_files(json_t *root, const struct summary_report *r)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < r->nfiles && !error; i++) {
		const struct summary_file *f = &r->files[i];
		const struct model_file *file = f->file != REF_NONE ? &r->model->files.v[f->file] : NULL;
		json_t *o = json_object();

		error = put(o, "path", text(file ? file->path : NULL)) |
			put(o, "mount_point", text(file ? file->mount_point : NULL)) |
			put(o, "mount_source", text(file ? file->mount_source : NULL)) |
			put(o, "file_system", text(file ? file->fs_type : NULL)) |
			put(o, "scope", text(file ? summary_scope_name(file->scope) : "unknown")) |
			put(o, "layer", text(r->model->paradigms.v[f->paradigm].identification)) | put_counts(o, &f->counts);
		error |= json_array_append_new(array, o);
	}
	return put(root, "files", array) | put(root, "files_total", number(r->files_total)) | put_special(root, r) | error;
}

/* Nothing without --mmap-faults. */
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

/* Nothing without --device. */
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
	       put(root, "failed_calls", number(t->failed_calls)) | put(root, "records_lost", number(t->lost_records)) |
	       put(root, "records_lost_exact", json_boolean(r->model->complete)) |
	       put(root, "records_late", number(t->late_records)) | put(root, "calls_abandoned", number(t->abandoned)) |
	       put(root, "calls_open", number(r->open_calls)) |
	       put(root, "operations_open", number(r->open_operations)) |
	       put(root, "events_unmatched", number(r->unmatched)) | put(root, "sizes_unknown", number(t->unknown_sizes)) |
	       put(root, "returns_without_frame", number(t->returns_without_frame)) |
	       put(root, "frames_too_deep", number(t->frames_too_deep)) | put(root, "notes", notes);
}

static int put_left_out(json_t *root, const struct model *m)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < m->left_out.n && !error; i++) {
		const struct model_left_out *l = &m->left_out.v[i];
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

int summary_json_write(FILE *out, const struct summary_report *r)
{
	const struct model *m = r->model;
	json_t *root = json_object();
	uint64_t duration = m->clock_end_ns > m->clock_begin_ns ? m->clock_end_ns - m->clock_begin_ns : 0;
	int error = put(root, "host", text(m->host_name)) | put(root, "machine", text(m->machine_name)) |
		    put(root, "duration_ns", number(duration)) | put(root, "ranks", number(r->ranks)) |
		    put(root, "jobs", number(m->njobs)) |
		    put(root, "processes", number(r->processes)) | put(root, "threads", number(r->threads)) |
		    put_layers(root, r) | put_files(root, r) | put_objects(root, r) | put_mapped(root, m) | put_device(root, m) |
		    put_losses(root, r) | put_left_out(root, m);

	error = error ? -ENOMEM : 0;
	errno = 0;
	if (!error && json_dumpf(root, out, JSON_INDENT(2)))
		error = write_error();
	json_decref(root);
	if (!error && fputc('\n', out) == EOF)
		error = write_error();
	return error;
}
