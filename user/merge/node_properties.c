/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the properties of a node's archive.
 */
#include "merge/node_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2/otf2_library.h"

#define PROPERTY_NAME_MAX 64

/* The value of IOPROBE::name, to be freed; NULL if there is none. */
static char *node_properties_property(struct reading *r, const char *name)
{
	char full[PROPERTY_NAME_MAX], *value = NULL;

	snprintf(full, sizeof(full), "IOPROBE::%s", name);
	if (OTF2_Reader_GetProperty(r->reader, full, &value) != OTF2_SUCCESS)
		value = NULL;
	otf2_library_watch();           /* that there is none is no failure */
	return value;
}

static uint32_t string_property(struct reading *r, const char *name)
{
	char *value = node_properties_property(r, name);
	uint32_t ref = value ? node_string_add(r->node, value) : REF_NONE;

	if (value && ref == REF_NONE)
		node_read_fail(r, -ENOMEM, "out of memory");
	free(value);
	return ref;
}

static uint64_t number_property(struct reading *r, const char *name)
{
	char *value = node_properties_property(r, name);
	uint64_t number = value ? strtoull(value, NULL, 10) : 0;

	free(value);
	return number;
}

static int clock_property(struct reading *r, const char *name, struct model_clock *clock)
{
	char *value = node_properties_property(r, name), known[8] = "";
	int n = value ? sscanf(value, "monotonic_ns=%" SCNu64 " realtime_ns=%" SCNu64 " width_ns=%" SCNu64
			       " synchronized=%7s error_ns=%" SCNu64 " max_error_ns=%" SCNu64, &clock->monotonic_ns,
			       &clock->realtime_ns, &clock->width_ns, known, &clock->error_ns, &clock->max_error_ns) : 0;

	if (value && n != 6)
		node_read_fail(r, -EBADMSG, "its clock readings are damaged");
	clock->read = n == 6;
	clock->known = strcmp(known, "unknown") != 0;
	clock->synchronized = !strcmp(known, "yes");
	free(value);
	return r->error;
}

static void read_last_step(struct reading *r)
{
	struct node_head *head = &r->node->head;
	struct model_clock *clock = &head->last_step;
	char key[48], *value;

	head->clock_steps = number_property(r, "CLOCK_STEPS");
	snprintf(key, sizeof(key), "CLOCK_STEP_%04" PRIu64, head->clock_steps);
	value = head->clock_steps ? node_properties_property(r, key) : NULL;
	clock->read = value &&
		      sscanf(value, "step_ns=%*d since_ns=%*u monotonic_ns=%" SCNu64 " realtime_ns=%" SCNu64 " width_ns=%" SCNu64,
			     &clock->monotonic_ns, &clock->realtime_ns, &clock->width_ns) == 3;
	free(value);
}

struct lines { uint32_t *v; size_t n, cap; };

/* Properties NAME_0001 to the number of them, n. */
static int read_lines(struct reading *r, const char *name, uint64_t n, struct lines *lines)
{
	for (uint64_t i = 1; i <= n && !r->error; i++) {
		char key[PROPERTY_NAME_MAX];
		uint32_t ref, *line;

		snprintf(key, sizeof(key), "%s_%04" PRIu64, name, i);
		ref = string_property(r, key);
		if (ref == REF_NONE)
			break;          /* an archive has 1000 notes at most */
		line = MODEL_ADD(*lines);
		if (!line)
			return node_read_fail(r, -ENOMEM, "out of memory");
		*line = ref;
	}
	return r->error;
}

/* Lists in a node's properties: notes, calls excluded by filters, mounts that were declared to be shared. */
static int read_all_lines(struct reading *r)
{
	struct node *node = r->node;
	struct lines notes = { 0 }, excluded = { 0 }, shared = { 0 };

	node->head.nnotes = number_property(r, "NOTES");
	node->head.nexcluded = number_property(r, "LEFT_OUT");
	if (!read_lines(r, "NOTE", node->head.nnotes, &notes))
		read_lines(r, "LEFT_OUT", node->head.nexcluded, &excluded);
	read_lines(r, "SHARED_MOUNT", UINT64_MAX, &shared);
	node->notes.v = notes.v;
	node->notes.n = notes.n;
	node->excluded.v = excluded.v;
	node->excluded.n = excluded.n;
	node->shared_mounts.v = shared.v;
	node->shared_mounts.n = shared.n;
	return r->error;
}

static bool has_local_ids(struct reading *r)
{
	char *ids = node_properties_property(r, "MATCHING_IDS");
	bool local = ids && !strcmp(ids, "unique in this archive");

	free(ids);
	return local;
}

/* IOPROBE::PROBE_NS_LAYER and its relatives, as many as there are layers. */
static int read_costs(struct reading *r)
{
	uint32_t n = 0;
	char **names = NULL;

	if (OTF2_Reader_GetPropertyNames(r->reader, &n, &names) != OTF2_SUCCESS)
		return node_read_fail(r, -EBADMSG, "its properties cannot be listed");
	for (uint32_t i = 0; i < n && !r->error; i++) {
		struct node_cost *cost;

		if (strncmp(names[i], "IOPROBE::PROBE_", 15))
			continue;
		cost = MODEL_ADD(r->node->costs);
		if (!cost || (cost->name = node_string_add(r->node, names[i] + 9)) == REF_NONE)
			node_read_fail(r, -ENOMEM, "out of memory");
		else
			cost->ns = number_property(r, names[i] + 9);
	}
	free(names);
	return r->error;
}

int node_read_properties(struct reading *r)
{
	struct node_head *head = &r->node->head;
	char *complete = node_properties_property(r, "RECORDING_COMPLETE"), *merged = node_properties_property(r, "MERGED_NODES");

	if (!complete)
		node_read_fail(r, -EINVAL, "it was not written by ioprobe");
	else if (merged)
		node_read_fail(r, -EINVAL, "it is a merged archive already");
	head->complete = complete && !strcmp(complete, "yes");
	free(complete);
	free(merged);
	head->version = string_property(r, "VERSION");
	head->local_ids = has_local_ids(r);
	head->batch_job = string_property(r, "BATCH_JOB");
	head->recording_tag = number_property(r, "RECORDING_TAG");
	for (size_t i = 0; i < NODE_TOTALS; i++)
		head->totals[i] = number_property(r, node_total_names[i]);
	if (!clock_property(r, "CLOCK_START", &head->start) && !head->start.read)
		node_read_fail(r, -EINVAL, "its clock reading (CLOCK_START) is missing");
	clock_property(r, "CLOCK_END", &head->end);
	read_last_step(r);
	if (!r->error)
		read_costs(r);
	return r->error ? r->error : read_all_lines(r);
}
