/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Information on a trace besides its events, as archive properties "IOPROBE::…": losses, totals, notes.
 */
#include "sink/otf2/otf2_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTES_MAX 1000          /* the library searches its property list linearly */
#define CLOCK_STEPS_MAX 100     /* that are listed */

static int otf2_properties_set_text(struct otf2_sink *s, const char *key, const char *value)
{
	OTF2_ErrorCode code = otf2_library_property(s->archive, key, value);

	return code == OTF2_SUCCESS ? 0 : otf2_fail_library(s, code, "set an archive property");
}

static int otf2_properties_set_number(struct otf2_sink *s, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return otf2_properties_set_text(s, key, text);
}

static int otf2_properties_set_notes(struct otf2_sink *s, const struct model *model)
{
	size_t n = model->nnotes < NOTES_MAX ? model->nnotes : NOTES_MAX;
	int error = otf2_properties_set_number(s, "NOTES", model->nnotes);

	for (size_t i = 0; i < n && !error; i++) {
		char key[24];

		snprintf(key, sizeof(key), "NOTE_%04zu", i + 1);
		error = otf2_properties_set_text(s, key, model->notes[i]);
	}
	if (!error && model->nnotes > n)
		error = otf2_properties_set_number(s, "NOTES_OMITTED", model->nnotes - n);
	return error;
}

/* One line each: the option, and the calls of each layer that it excluded. */
static int set_excluded(struct otf2_sink *s, const struct model *model)
{
	int error = model->excluded.n ? otf2_properties_set_number(s, "LEFT_OUT", model->excluded.n) : 0;

	for (size_t i = 0; i < model->excluded.n && !error; i++) {
		const struct model_excluded *l = &model->excluded.v[i];
		char key[32], value[1536];

		snprintf(key, sizeof(key), "LEFT_OUT_%04zu", i + 1);
		if (!l->layer)
			snprintf(value, sizeof(value), "%s", l->filter);
		else if (l->whole)
			snprintf(value, sizeof(value), "%s: %s: not probed", l->filter, l->layer);
		else
			snprintf(value, sizeof(value),
				 "%s: %s: %" PRIu64 " calls, %" PRIu64 " bytes read, %" PRIu64 " bytes written, %" PRIu64
				 " of unknown size, %" PRIu64 " ns",
				 l->filter, l->layer, l->calls, l->read_bytes, l->written_bytes, l->unknown, l->time_ns);
		error = otf2_properties_set_text(s, key, value);
	}
	return error;
}

/* "monotonic_ns=… realtime_ns=… width_ns=… synchronized=yes|no|unknown error_ns=… max_error_ns=…" */
static int set_clock(struct otf2_sink *s, const char *key, const struct model_clock *clock)
{
	char text[256];

	if (!clock->read)
		return 0;
	snprintf(text, sizeof(text), OTF2_CLOCK_FORMAT, clock->monotonic_ns, clock->realtime_ns, clock->width_ns,
		 !clock->known ? "unknown" : clock->synchronized ? "yes" : "no", clock->error_ns, clock->max_error_ns);
	return otf2_properties_set_text(s, key, text);
}

/* How often the wall clock was set during the recording, and the clocks after each time. Ticks are CLOCK_MONOTONIC, which no step
 * changes. */
static int set_clock_steps(struct otf2_sink *s, const struct model *model)
{
	size_t n = model->clock_steps.n < CLOCK_STEPS_MAX ? model->clock_steps.n : CLOCK_STEPS_MAX;
	int error = model->clock_steps.n ? otf2_properties_set_number(s, "CLOCK_STEPS", model->clock_steps.n) : 0;

	for (size_t i = 0; i < n && !error; i++) {
		const struct model_clock_step *step = &model->clock_steps.v[i];
		char key[32], text[256];

		snprintf(key, sizeof(key), "CLOCK_STEP_%04zu", i + 1);
		snprintf(text, sizeof(text),
			 "step_ns=%" PRId64 " since_ns=%" PRIu64 " monotonic_ns=%" PRIu64 " realtime_ns=%" PRIu64
			 " width_ns=%" PRIu64,
			 step->step_ns, step->since_ns, step->at.monotonic_ns, step->at.realtime_ns, step->at.width_ns);
		error = otf2_properties_set_text(s, key, text);
	}
	return error;
}

/* The recording's origin, and how its times relate to those of other nodes. */
static int set_origin(struct otf2_sink *s, const struct model *model)
{
	char tag[24];
	int error = 0;

	snprintf(tag, sizeof(tag), "%" PRIu32, model->recording_tag);
	error = otf2_properties_set_text(s, "RECORDING_TAG", tag);
	if (!error)
		error = otf2_properties_set_text(s, "MATCHING_IDS", s->whole_job ? "unique in this archive" : "unique in the job");
	if (!error && model->version)
		error = otf2_properties_set_text(s, "VERSION", model->version);
	if (!error && model->kernel)
		error = otf2_properties_set_text(s, "KERNEL", model->kernel);
	if (!error && model->command_line)
		error = otf2_properties_set_text(s, "COMMAND_LINE", model->command_line);
	if (!error && model->end.stopped_by)
		error = otf2_properties_set_text(s, "STOPPED_BY", model->end.stopped_by);
	if (!error && model->end.reason)
		error = otf2_properties_set_text(s, "END_REASON", model->end.reason);
	if (!error && model->end.after_bound)
		error = otf2_properties_set_number(s, "RECORDS_AFTER_BOUND", model->end.after_bound);
	if (!error && model->batch_job)
		error = otf2_properties_set_text(s, "BATCH_JOB", model->batch_job);
	for (size_t i = 0; i < model->shared_mounts.n && !error; i++) {
		char key[40];

		snprintf(key, sizeof(key), "SHARED_MOUNT_%04zu", i + 1);
		error = otf2_properties_set_text(s, key, model->shared_mounts.v[i]);
	}
	if (!error)
		error = set_clock(s, "CLOCK_START", &model->clock_start);
	if (!error)
		error = set_clock(s, "CLOCK_END", &model->clock_end);
	return error ? error : set_clock_steps(s, model);
}

static int set_cost(struct otf2_sink *s, const char *prefix, const char *layer, uint64_t ns)
{
	char key[300];

	return ns == MODEL_COST_UNKNOWN ? 0 : otf2_properties_set_number(s, otf2_layer_key(key, sizeof(key), prefix, layer), ns);
}

/* What a recorded call costs, by layer: in all, between its own times, and in parts. */
static int otf2_properties_set_costs(struct otf2_sink *s, const struct model *model)
{
	int error = 0;

	for (size_t i = 0; i < model->costs.n && !error; i++) {
		const struct model_cost *cost = &model->costs.v[i];

		error = set_cost(s, "PROBE_NS_", cost->layer, cost->total_ns);
		if (!error)
			error = set_cost(s, "PROBE_INSIDE_NS_", cost->layer, cost->inside_ns);
		if (!error)
			error = set_cost(s, "PROBE_ENTRY_RETURN_NS_", cost->layer, cost->entry_return_ns);
		if (!error)
			error = set_cost(s, "PROBE_RECORD_NS_", cost->layer, cost->record_ns);
		if (!error)
			error = set_cost(s, "PROBE_SITE_NS_", cost->layer, cost->site_ns);
	}
	if (!error && model->costs.n)
		error = otf2_properties_set_number(s, "PROBE_NS_NESTED", model->nested_cost_ns);
	if (!error && model->costs.n)
		error = otf2_properties_set_number(s, "PROBE_NS_SINGLE_STEP", model->single_step_cost_ns);
	return error;
}

int otf2_properties_write(struct otf2_sink *s, const struct model *model)
{
	const struct model_totals *t = &model->totals;
	const struct { const char *key; uint64_t value; } numbers[] = {
		{ "CALLS", t->calls },
		{ "LOST_RECORDS", t->lost_records },
		{ "LATE_RECORDS", t->late_records },
		{ "ABANDONED_CALLS", t->abandoned },
		{ "FAILED_CALLS", t->failed_calls },
		{ "UNKNOWN_SIZES", t->unknown_sizes },
		{ "RETURNS_WITHOUT_FRAME", t->returns_without_frame },
		{ "FRAMES_TOO_DEEP", t->frames_too_deep },
	};
	int error = otf2_properties_set_text(s, "RECORDING_COMPLETE", model->complete ? "yes" : "no");

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !error; i++)
		error = otf2_properties_set_number(s, numbers[i].key, numbers[i].value);
	if (!error && t->facts_unknown)
		error = otf2_properties_set_number(s, "FACTS_UNKNOWN", t->facts_unknown);
	if (!error && t->facts_beyond)
		error = otf2_properties_set_number(s, "FACTS_BEYOND", t->facts_beyond);
	if (!error && model->machine_name && OTF2_Archive_SetMachineName(s->archive, model->machine_name) != OTF2_SUCCESS)
		error = otf2_fail_library(s, OTF2_ERROR_INTEGRITY_FAULT, "set the machine's name");
	if (!error)
		error = set_excluded(s, model);
	if (!error)
		error = set_origin(s, model);
	if (!error)
		error = otf2_properties_set_costs(s, model);
	return error ? error : otf2_properties_set_notes(s, model);
}
