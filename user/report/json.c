/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The report for programs; the schema is user/report/report.schema.json. Times are in seconds, sizes in bytes.
 */
#include "analysis/settings.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/advice.h"
#include "report/facts.h"
#include "report/json_values.h"
#include "report/views.h"

#define MAX_FILES 1000

static json_t *trace_object(const struct analysis *a)
{
	char complete[640];
	json_t *notes = json_array();

	report_completeness(a, complete, sizeof(complete));
	for (size_t i = 0; i < a->trace->notes.n; i++)
		json_array_append_new(notes, json_text(a->trace->notes.v[i]));
	return json_pack("{s:o, s:b, s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o}", "archive",
			 json_text(a->trace->dir), "complete", report_is_complete(a), "completeness", json_text(complete),
			 "creator", json_text(a->trace->creator), "command", json_text(a->trace->command),
			 "seconds", a->facts->wall_ns / 1e9, "ranks", (json_int_t)a->facts->nranks, "nodes",
			 (json_int_t)a->facts->nnodes,
			 "damaged_threads", (json_int_t)a->facts->damaged, "lost_records", (json_int_t)a->trace->lost, "call_sites",
			 a->facts->has_sites,
			 "wall_time_of_ranks", a->facts->has_wall, "recorder_cost_known", a->trace->probe_ns[LAYER_POSIX] > 0,
			 "notes", notes);
}

/* Of the thread with most I/O time; null without --cpu-time. */
static json_t *cpu_object(const struct analysis *a)
{
	const struct cpu_stat *s = a->worst == TRACE_NONE ? NULL : &a->facts->locations[a->worst].cpu;

	if (!s || !a->facts->has_cpu)
		return json_null();
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "calls", (json_int_t)s->calls, "calls_unknown",
			 (json_int_t)s->unknown,
			 "cpu_seconds", json_seconds(s->cpu_ns), "sleep_seconds", json_seconds(s->sleep_ns), "io_sleep_seconds",
			 json_seconds(s->io_sleep_ns),
			 "run_delay_seconds", json_seconds(s->delay_ns), "between_cpu_seconds", json_seconds(s->between_cpu_ns),
			 "between_sleep_seconds", json_seconds(s->between_sleep_ns), "between_run_delay_seconds",
			 json_seconds(s->between_delay_ns));
}

static json_t *time_object(const struct analysis *a)
{
	json_t *of = json_object();
	struct report_times t = { { 0 } };

	if (a->worst != TRACE_NONE)
		report_times(a, a->worst, &t);
	for (unsigned i = 0; i < REPORT_TIMES; i++)
		json_object_set_new(of, report_time_names[i], json_seconds(t.ns[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "worst", json_location(a, a->worst), "io_seconds",
			 json_seconds(a->worst == TRACE_NONE ? 0 : a->facts->locations[a->worst].io_ns), "wall_seconds",
			 json_seconds(a->worst_wall_ns),
			 "median_io_seconds", json_seconds(report_median_io(a)), "of", of, "cpu", cpu_object(a));
}

static json_t *layers_array(const struct analysis *a)
{
	json_t *list = json_array();

	for (enum trace_layer l = 0; l < LAYER_OTHER; l++) {
		struct report_layer r;

		if (report_layer(a, l, &r))
			json_array_append_new(list,
					      json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "name", trace_layer_name(l),
							"calls", (json_int_t)r.calls, "failed", (json_int_t)r.failed, "bytes_read",
							(json_int_t)r.bytes[DIR_READ], "bytes_written",
				(json_int_t)r.bytes[DIR_WRITE], "operations_of_unknown_size", (json_int_t)r.unknown, "seconds",
				json_seconds(r.ns),
				"system_seconds", l == a->facts->lowest ? json_null() : json_seconds(r.system_ns)));
	}
	return list;
}

/* ---- findings ---- */

static json_t *files_of(const struct analysis *a, const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->nfiles && i < FINDING_FILES; i++)
		json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:o}", "path", json_text(file_name(a, f->files[i].file)),
						      "operations", (json_int_t)f->files[i].n, "bytes",
						      (json_int_t)f->files[i].bytes, "seconds", json_seconds(f->files[i].ns)));
	return list;
}

static json_t *calls_of(const struct analysis *a, const struct finding *f)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < f->ncalls; i++) {
		char site[600];

		site_text(a->trace, f->calls[i].site, site, sizeof(site));
		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:o}", "function",
						      json_text(a->trace->regions.v[f->calls[i].region].name), "site",
			site[0] ? json_text(site) : json_null(), "calls", (json_int_t)f->calls[i].n, "seconds",
			json_seconds(f->calls[i].ns)));
	}
	return list;
}

static json_t *advice_array(const struct analysis *a, const struct finding *f)
{
	const struct advice *advice[ADVICE_MAX];
	size_t n = advice_of_finding(a, f, advice);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "interface", advice_interface_name(advice[i]), "language",
						      advice[i]->language, "text", advice[i]->text));
	return list;
}

static json_t *settings_array(const struct analysis *a, const struct finding *f)
{
	const struct trace_fact *found[SETTINGS_LISTED];
	size_t n = finding_settings(a, f, found, SETTINGS_LISTED);
	json_t *list = json_array();

	for (size_t i = 0; i < n && i < SETTINGS_LISTED; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "file", json_text(file_name(a, found[i]->file)), "name",
						      json_text(found[i]->name), "value", json_text(found[i]->value)));
	return list;
}

static json_t *finding_object(const struct analysis *a, const struct finding *f)
{
	char ranks[200];

	finding_ranks(a, f, ranks, sizeof(ranks));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:{s:b, s:o, s:o, s:o}, "
			 "s:o, s:o, s:o, s:o}", "code", f->detector->code, "title", f->detector->title, "severity",
			 severity_name(f->severity),
			 "confidence", f->inferred ? "inferred" : "measured", "cause",
			 f->cause ? json_text(f->cause->detector->code) : json_null(), "evidence",
			 json_text(f->evidence), "ranks", json_text(ranks), "operations", (json_int_t)f->n, "bytes",
			 (json_int_t)f->bytes, "cost_seconds", json_seconds(f->cost_ns), "paid_by", json_location(a, f->location),
			 "from_seconds", json_seconds(f->begin_ns), "to_seconds", json_seconds(f->end_ns),
			 "saving", "known", f->saving.known, "low_seconds", json_seconds(f->saving.low_ns), "high_seconds",
			 json_seconds(f->saving.high_ns),
			 "basis", json_text(f->saving.basis), "files", files_of(a, f), "calls", calls_of(a, f), "advice",
			 advice_array(a, f), "settings", settings_array(a, f));
}

static json_t *cannot_tell(const struct analysis *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->cannot_tell.n; i++) {
		char missing[160];

		report_missing(a, a->cannot_tell.v[i], missing, sizeof(missing));
		json_array_append_new(list, json_pack("{s:s, s:s}", "code", a->cannot_tell.v[i]->code, "missing", missing));
	}
	return list;
}

static json_t *files_array(const struct analysis *a)
{
	struct report_file *files = calloc(MAX_FILES, sizeof(*files));
	size_t n = files ? report_files(a, files, MAX_FILES) : 0;
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "path",
						      json_text(file_name(a, files[i].file)), "layer",
			trace_layer_name(files[i].layer), "users", (json_int_t)files[i].users, "reads", (json_int_t)files[i].n[0],
			"writes", (json_int_t)files[i].n[1], "bytes_read", (json_int_t)files[i].bytes[0], "bytes_written",
			(json_int_t)files[i].bytes[1],
			"seconds", json_seconds(files[i].ns)));
	free(files);
	return list;
}

static json_t *thresholds_object(const struct analysis *a)
{
	json_t *object = json_object();

	for (size_t i = 0; i < nthresholds; i++) {
		double value;

		memcpy(&value, (const char *)&a->thresholds + threshold_list[i].offset, sizeof(value));
		json_object_set_new(object, threshold_list[i].name, json_real(value));
	}
	return object;
}

int report_write_json(FILE *out, const struct analysis *a, const struct report_options *options)
{
	json_t *findings = json_array(), *root;
	int ret = -ENOMEM;

	(void)options;
	for (size_t i = 0; i < a->findings.n; i++)
		json_array_append_new(findings, finding_object(a, a->findings.v[i]));
	root = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "trace", trace_object(a), "time",
			 time_object(a), "layers", layers_array(a), "findings", findings, "cannot_tell", cannot_tell(a), "files",
			 files_array(a), "figures", report_views_json(a), "thresholds", thresholds_object(a));
	if (root)
		ret = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) || fputc('\n', out) == EOF ? -EIO : 0;
	json_decref(root);
	return ret;
}
