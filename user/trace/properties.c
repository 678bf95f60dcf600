/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads an archive's information on its own completeness, and the attributes of its events.
 */
#include "trace/properties.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2/otf2_library.h"

#define MAX_NOTES 200

/* The text lives as long as the trace. Returns NULL if there is no such property. */
static const char *properties_property(struct trace *trace, OTF2_Reader *reader, const char *name)
{
	char full[64], *value = NULL;
	const char *kept;

	snprintf(full, sizeof(full), "IOPROBE::%s", name);
	if (OTF2_Reader_GetProperty(reader, full, &value) != OTF2_SUCCESS)
		value = NULL;
	otf2_library_watch();           /* a missing property is not an error */
	if (!value)
		return NULL;
	kept = trace_copy_text(trace, value);
	free(value);
	return kept;
}

static uint64_t trace_property_number(struct trace *trace, OTF2_Reader *reader, const char *name)
{
	const char *value = properties_property(trace, reader, name);

	return value ? strtoull(value, NULL, 10) : 0;
}

static int read_notes(struct trace *trace, OTF2_Reader *reader)
{
	uint64_t n = trace_property_number(trace, reader, "NOTES");

	for (uint64_t i = 1; i <= n && i <= MAX_NOTES; i++) {
		char key[40];
		const char *text;

		snprintf(key, sizeof(key), "NOTE_%04" PRIu64, i);
		text = properties_property(trace, reader, key);
		if (text) {
			const char **slot = TRACE_ADD(trace->notes);

			if (!slot)
				return -ENOMEM;
			*slot = text;
		}
	}
	return 0;
}

static void properties_append(char *text, size_t len, const char *format, uint64_t n)
{
	size_t used = strlen(text);

	if (used && used < len)
		used += snprintf(text + used, len - used, ", ");
	if (used < len)
		snprintf(text + used, len - used, format, n);
}

static void describe_losses(struct trace *trace)
{
	char *text = trace->losses;
	size_t len = sizeof(trace->losses);

	if (!trace->complete)
		properties_append(text, len, "the recording broke off", 0);
	if (trace->lost)
		properties_append(text, len, "%" PRIu64 " records lost", trace->lost);
	if (trace->missing_ranks) {
		properties_append(text, len, "ranks missing: ", 0);
		snprintf(text + strlen(text), len - strlen(text), "%.80s", trace->missing_ranks);
	}
	if (trace->filtered)
		properties_append(text, len, "%" PRIu64 " filters excluded calls", trace->filtered);
}

/* Costs of a recorded call of a layer in nanoseconds, IOPROBE::PROBE_NS_<layer> and PROBE_INSIDE_NS_<layer>. */
static void read_probe_costs(struct trace *trace, OTF2_Reader *reader)
{
	for (enum trace_layer l = 0; l < LAYER_OTHER; l++) {
		const char *layer = l == LAYER_ADIOS ? "ADIOS2" : trace_layer_name(l);
		char key[48];

		trace->probe_ns[l] = trace_property_number(trace, reader, otf2_layer_key(key, sizeof(key), "PROBE_NS_", layer));
		trace->probe_inside_ns[l] =
			trace_property_number(trace, reader, otf2_layer_key(key, sizeof(key), "PROBE_INSIDE_NS_", layer));
	}
	trace->probe_nested_ns = trace_property_number(trace, reader, "PROBE_NS_NESTED");
}

int trace_properties_read(struct trace *trace, OTF2_Reader *reader)
{
	char *creator = NULL;
	const char *complete;

	if (OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS && creator) {
		trace->creator = trace_copy_text(trace, creator);
		free(creator);
		if (!trace->creator)
			return -ENOMEM;
	}
	otf2_library_watch();
	complete = properties_property(trace, reader, "RECORDING_COMPLETE");
	trace->ours = complete != NULL;
	trace->complete = !complete || !strcmp(complete, "yes");
	trace->lost = trace_property_number(trace, reader, "LOST_RECORDS");
	trace->abandoned = trace_property_number(trace, reader, "ABANDONED_CALLS");
	trace->facts_unknown = trace_property_number(trace, reader, "FACTS_UNKNOWN");
	trace->filtered = trace_property_number(trace, reader, "LEFT_OUT");
	trace->missing_ranks = properties_property(trace, reader, "MISSING_RANKS");
	trace->command = properties_property(trace, reader, "COMMAND");
	trace->version = properties_property(trace, reader, "VERSION");
	trace->kernel = properties_property(trace, reader, "KERNEL");
	read_probe_costs(trace, reader);
	describe_losses(trace);
	return read_notes(trace, reader);
}

void trace_find_attributes(const struct trace *trace, struct trace_attributes *found)
{
	struct { const char *name; uint32_t *ref; } wanted[] = {
		{ "Offset", &found->offset }, { "errno", &found->error }, { "Failed", &found->failed },
		{ "Abandoned", &found->abandoned }, { "Mapped handle", &found->mapped_handle },
		{ "Mapped bytes", &found->mapped_bytes }, { "Variable", &found->variable },
		{ "Request", &found->request }, { "Path", &found->path }, { "Directory", &found->directory },
		{ "CPU time", &found->cpu }, { "Sleep", &found->sleep }, { "Sleep for I/O", &found->sleep_io },
		{ "Run delay", &found->delay }, { "Sleep before", &found->before }, { "Run delay before", &found->before_delay },
		{ "Unaligned buffer", &found->unaligned },
	};

	for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++) {
		*wanted[w].ref = TRACE_NONE;
		for (uint32_t i = 0; i < trace->attributes.n; i++)
			if (trace->attributes.v[i].name && !strcmp(trace->attributes.v[i].name, wanted[w].name))
				*wanted[w].ref = i;
	}
}
