/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Definitions of processes and threads with their properties: ranks, programs, begin and end.
 */
#include "sink/otf2/otf2_definitions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool otf2_location_kept(const struct definitions *d, size_t location)
{
	return location < d->sink->nlocations && d->sink->locations[location].kept;
}

/* Properties for merging archives of several nodes. */
static void otf2_processes_define_rank(struct definitions *d, uint32_t ref, const struct model_group *group)
{
	OTF2_StringRef rank = otf2_string_ref(d, OTF2_PROPERTY_RANK), size = otf2_string_ref(d, OTF2_PROPERTY_SIZE);
	OTF2_AttributeValue value = { .uint32 = group->rank };

	DEFINE(d, LocationGroupProperty, ref, rank, OTF2_TYPE_UINT32, value);
	if (group->launch_size > 0) {
		value.uint32 = group->launch_size;
		DEFINE(d, LocationGroupProperty, ref, size, OTF2_TYPE_UINT32, value);
	}
	if (group->launch) {
		OTF2_StringRef launch = otf2_string_ref(d, OTF2_PROPERTY_LAUNCH);

		value = otf2_string_value(d, group->launch);
		DEFINE(d, LocationGroupProperty, ref, launch, OTF2_TYPE_STRING, value);
	}
}

static void define_text_property(struct definitions *d, uint32_t ref, const char *key, const char *text)
{
	OTF2_StringRef name;
	OTF2_AttributeValue value;

	if (!text)
		return;
	name = otf2_string_ref(d, key);
	value = otf2_string_value(d, text);
	DEFINE(d, LocationGroupProperty, ref, name, OTF2_TYPE_STRING, value);
}

static void define_number_property(struct definitions *d, uint32_t ref, const char *key, uint64_t number)
{
	OTF2_StringRef name = otf2_string_ref(d, key);
	OTF2_AttributeValue value = { .uint64 = number };

	DEFINE(d, LocationGroupProperty, ref, name, OTF2_TYPE_UINT64, value);
}

/* An unknown value has no property: a process without an end was still running, or its end was not recorded. */
static void define_process(struct definitions *d, uint32_t ref, const struct model_process *life)
{
	define_text_property(d, ref, "Executable", life->executable);
	define_text_property(d, ref, "Command Line", life->command_line);
	define_text_property(d, ref, "Working Directory", life->directory);
	define_text_property(d, ref, "Batch Job", life->batch_job);
	if (life->has_uid)
		define_number_property(d, ref, "UID", life->uid);
	if (life->begin_ns)
		define_number_property(d, ref, life->was_running ? "Found" : "Begin", life->begin_ns);
	if (life->end_ns)
		define_number_property(d, ref, "End", life->end_ns);
	if (life->has_probe_hits)
		define_number_property(d, ref, "Probe Hits", life->probe_hits);
	if (life->has_status)
		define_number_property(d, ref, "Wait Status", (uint32_t)life->status);
}

/* Each program that the process executed: its path, if that is known, and since when. */
static int define_programs(struct definitions *d)
{
	const struct model *m = d->model;
	uint32_t *numbers = calloc(m->groups.n + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < m->programs.n; i++) {
		const struct model_program *program = &m->programs.v[i];
		uint32_t ref = d->group_refs[program->group];
		char key[40];

		if (ref == REF_NONE)
			continue;
		snprintf(key, sizeof(key), "Program %04u", ++numbers[program->group]);
		define_text_property(d, ref, key, program->path);
		snprintf(key, sizeof(key), "Program %04u Begin", numbers[program->group]);
		define_number_property(d, ref, key, program->begin_ns);
	}
	free(numbers);
	return 0;
}

static void define_moment(struct definitions *d, uint64_t location, const char *key, uint64_t time_ns)
{
	OTF2_StringRef name;
	OTF2_AttributeValue value = { .uint64 = time_ns };

	if (!time_ns)
		return;
	name = otf2_string_ref(d, key);
	DEFINE(d, LocationProperty, location, name, OTF2_TYPE_UINT64, value);
}

static void define_location(struct definitions *d, size_t l)
{
	const struct model *m = d->model;
	const struct model_location *location = &m->locations.v[l];
	OTF2_StringRef name = otf2_string_ref(d, location->name);

	DEFINE(d, Location, location->id, name, OTF2_LOCATION_TYPE_CPU_THREAD, otf2_writer_events(d->sink->writer, l),
	       d->group_refs[location->group]);
	if (!m->recording_begin_ns || l >= m->lifetimes.n)
		return;
	define_moment(d, location->id, m->lifetimes.v[l].was_running ? "Found" : "Begin", m->lifetimes.v[l].begin_ns);
	define_moment(d, location->id, "End", m->lifetimes.v[l].end_ns);
}

void otf2_define_locations(struct definitions *d)
{
	const struct model *m = d->model;

	for (size_t g = 0; g < m->groups.n; g++) {
		if (d->group_refs[g] == REF_NONE)
			continue;
		OTF2_StringRef name = otf2_string_ref(d, m->groups.v[g].name);
		DEFINE(d, LocationGroup, d->group_refs[g], name, OTF2_LOCATION_GROUP_TYPE_PROCESS, OTF2_NODE_HOST,
		       OTF2_UNDEFINED_LOCATION_GROUP);
	}
	for (size_t g = 0; g < m->groups.n; g++)
		if (d->group_refs[g] != REF_NONE && m->groups.v[g].rank >= 0)
			otf2_processes_define_rank(d, d->group_refs[g], &m->groups.v[g]);
	for (size_t g = 0; g < m->processes.n && g < m->groups.n; g++)
		if (d->group_refs[g] != REF_NONE && m->recording_begin_ns)
			define_process(d, d->group_refs[g], &m->processes.v[g]);
	if (m->recording_begin_ns && define_programs(d) && d->code == OTF2_SUCCESS)
		d->code = OTF2_ERROR_ENOMEM;
	for (size_t l = 0; l < m->locations.n; l++)
		if (otf2_location_kept(d, l))
			define_location(d, l);
}
