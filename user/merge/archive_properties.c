/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes the properties of the merged archive: sums and extremes of the nodes' properties, notes with their hosts.
 */
#include "merge/archive_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2/otf2_library.h"

#define NOTES_MAX 1000          /* the library searches its list of properties linearly */

struct property_writing {
	const struct merge *m;
	OTF2_Archive *archive;
	OTF2_ErrorCode code;            /* first failure; nothing is written after it */
};

static void archive_properties_set_text(struct property_writing *w, const char *key, const char *value)
{
	if (w->code == OTF2_SUCCESS)
		w->code = otf2_library_property(w->archive, key, value);
}

static void archive_properties_set_number(struct property_writing *w, const char *key, int64_t value)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, value);
	archive_properties_set_text(w, key, number);
}

/* The lines of a node, as NAME_0001 and so on, with its host before each. */
static void set_lines(struct property_writing *w, size_t n, const char *name, const uint32_t *lines, size_t nlines,
		      uint64_t *written)
{
	for (size_t i = 0; i < nlines && *written < NOTES_MAX && w->code == OTF2_SUCCESS; i++) {
		char key[32], *value;

		if (asprintf(&value, "%s: %s", merge_host(w->m, n), node_string(&w->m->nodes[n], lines[i])) < 0) {
			w->code = OTF2_ERROR_ENOMEM;
			return;
		}
		snprintf(key, sizeof(key), "%s_%04" PRIu64, name, ++*written);
		archive_properties_set_text(w, key, value);
		free(value);
	}
}

static void archive_properties_set_notes(struct property_writing *w)
{
	const struct merge *m = w->m;
	uint64_t notes = 0, excluded = 0, total_notes = 0, total_excluded = 0;

	for (size_t n = 0; n < m->nnodes; n++) {
		const struct node *node = &m->nodes[n];

		total_notes += node->head.nnotes;
		total_excluded += node->head.nexcluded;
		set_lines(w, n, "NOTE", node->notes.v, node->notes.n, &notes);
		set_lines(w, n, "LEFT_OUT", node->excluded.v, node->excluded.n, &excluded);
	}
	archive_properties_set_number(w, "NOTES", total_notes);
	if (total_notes > notes)
		archive_properties_set_number(w, "NOTES_OMITTED", total_notes - notes);
	if (total_excluded)
		archive_properties_set_number(w, "LEFT_OUT", total_excluded);
	if (total_excluded > excluded)
		archive_properties_set_number(w, "LEFT_OUT_OMITTED", total_excluded - excluded);
}

/* Declared on any node; each once. */
static void set_shared_mounts(struct property_writing *w)
{
	struct index known = { 0 };
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].shared_mounts.n && w->code == OTF2_SUCCESS; i++) {
			uint32_t number = next, path = w->m->nodes[n].shared_mounts.v[i];
			char key[32];

			if (index_get(&known, (struct index_key){ { w->m->maps[n].strings[path] } }, &number))
				w->code = OTF2_ERROR_ENOMEM;
			if (number != next)
				continue;
			snprintf(key, sizeof(key), "SHARED_MOUNT_%04u", ++next);
			archive_properties_set_text(w, key, node_string(&w->m->nodes[n], path));
		}
	index_deinit(&known);
}

static void set_clocks(struct property_writing *w)
{
	const struct clock_report *c = &w->m->clocks;

	archive_properties_set_number(w, "CLOCK_OFFSET_MIN_NS", c->offset_min_ns);
	archive_properties_set_number(w, "CLOCK_OFFSET_MAX_NS", c->offset_max_ns);
	archive_properties_set_number(w, "CLOCK_OFFSET_CHANGE_NS", c->change_max_ns);
	if (c->error_known)
		archive_properties_set_number(w, "CLOCK_ERROR_NS", c->error_ns);
	else
		archive_properties_set_text(w, "CLOCK_ERROR_NS", "unknown");
	archive_properties_set_number(w, "CLOCK_UNSYNCHRONIZED_NODES", c->unsynchronized);
	archive_properties_set_number(w, "COLLECTIVES_CHECKED", c->meetings);
	archive_properties_set_number(w, "COLLECTIVES_VIOLATED", c->violated);
	if (c->meetings)
		archive_properties_set_number(w, "COLLECTIVES_LEAST_SLACK_NS", c->slack_ns);
}

static const struct node_cost *find_cost(const struct node *node, const char *name)
{
	for (size_t i = 0; i < node->costs.n; i++)
		if (!strcmp(node_string(node, node->costs.v[i].name), name))
			return &node->costs.v[i];
	return NULL;
}

/* Properties PROBE_…NS_LAYER whose values add up to that of PROBE_NS_LAYER. */
static const char *const cost_parts[] = { "PROBE_ENTRY_RETURN_NS_", "PROBE_RECORD_NS_", "PROBE_SITE_NS_" };

static bool is_cost_part(const char *name)
{
	for (size_t i = 0; i < sizeof(cost_parts) / sizeof(cost_parts[0]); i++)
		if (!strncmp(name, cost_parts[i], strlen(cost_parts[i])))
			return true;
	return false;
}

/* The parts of a call's cost on the node where it costs most, as far as they are known there. */
static void set_cost_parts(struct property_writing *w, const struct node *node, const char *name)
{
	for (size_t i = 0; i < sizeof(cost_parts) / sizeof(cost_parts[0]); i++) {
		const struct node_cost *cost;
		char key[300];

		snprintf(key, sizeof(key), "%s%s", cost_parts[i], name + strlen("PROBE_NS_"));
		cost = find_cost(node, key);
		if (cost)
			archive_properties_set_number(w, key, cost->ns);
	}
}

/* The most that a recorded call costs on any node; only if all nodes have measured it. */
static void archive_properties_set_costs(struct property_writing *w)
{
	const struct node *first = &w->m->nodes[0];

	for (size_t i = 0; i < first->costs.n; i++) {
		const char *name = node_string(first, first->costs.v[i].name);
		uint64_t most = first->costs.v[i].ns;
		const struct node *where = first;
		size_t known = 1;

		for (size_t n = 1; n < w->m->nnodes; n++) {
			const struct node_cost *cost = find_cost(&w->m->nodes[n], name);

			known += cost != NULL;
			if (cost && cost->ns > most) {
				most = cost->ns;
				where = &w->m->nodes[n];
			}
		}
		if (known < w->m->nnodes || is_cost_part(name))
			continue;
		archive_properties_set_number(w, name, most);
		if (!strncmp(name, "PROBE_NS_", 9))
			set_cost_parts(w, where, name);
	}
}

OTF2_ErrorCode archive_write_properties(const struct merge *m, OTF2_Archive *archive)
{
	struct property_writing out = { .m = m, .archive = archive, .code = OTF2_SUCCESS }, *w = &out;
	const struct node *first = &m->nodes[0];
	bool complete = true;
	char *missing;

	for (size_t n = 0; n < m->nnodes; n++)
		complete &= m->nodes[n].head.complete;
	archive_properties_set_number(w, "MERGED_NODES", m->nnodes);
	archive_properties_set_text(w, "RECORDING_COMPLETE", complete ? "yes" : "no");
	archive_properties_set_text(w, "VERSION", node_string(first, first->head.version));
	archive_properties_set_text(w, "JOB", merge_job_name(m));
	for (size_t i = 0; i < NODE_TOTALS; i++) {
		uint64_t total = 0;

		for (size_t n = 0; n < m->nnodes; n++)
			total += m->nodes[n].head.totals[i];
		archive_properties_set_number(w, node_total_names[i], total);
	}
	missing = merge_missing_ranks(m);
	if (missing)
		archive_properties_set_text(w, "MISSING_RANKS", missing);
	free(missing);
	set_clocks(w);
	archive_properties_set_costs(w);
	set_shared_mounts(w);
	archive_properties_set_notes(w);
	return out.code;
}
