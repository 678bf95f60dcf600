/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What was merged, for people and for programs: nodes and ranks, the layers' calls and bytes over all nodes, files by scope,
 * handles, events, and what the times of different nodes are worth beside each other.
 */
#include "merge/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "merge/job_summary.h"
#include "sink/summary/summary_report.h"

struct sums {
	struct summary_layer layers[64];
	uint64_t nlayers, totals[NODE_TOTALS], events, locations, processes, ranks;
	unsigned without_summary;
};

/* ---- adding up ---- */

static struct summary_layer report_layer_of(const char *name, const json_t *o)
{
	const json_t *system_ns = json_object_get(o, "system_time_ns");

	return (struct summary_layer){
		.name = name,
		.calls = json_integer_value(json_object_get(o, "calls")),
		.failed = json_integer_value(json_object_get(o, "failed")),
		.counts = job_summary_counts(o),
		.time_ns = json_integer_value(json_object_get(o, "time_ns")),
		.system_ns = json_integer_value(system_ns),
		.system_known = json_is_integer(system_ns),
		.os = json_is_true(json_object_get(o, "operating_system")),
	};
}

static void add_layers(struct sums *s, const struct merge *m)
{
	const char *name;
	json_t *layer;

	json_object_foreach(job_summary_layers(m->summary), name, layer)
		if (s->nlayers < sizeof(s->layers) / sizeof(s->layers[0]))
			s->layers[s->nlayers++] = report_layer_of(name, layer);
}

static void report_add_node(struct sums *s, const struct node *node)
{
	for (size_t i = 0; i < NODE_TOTALS; i++)
		s->totals[i] += node->head.totals[i];
	for (size_t i = 0; i < node->locations.n; i++)
		s->events += node->locations.v[i].events;
	s->locations += node->locations.n;
	s->processes += node->head.processes;
	s->ranks += node->head.ranks;
}

static struct sums add_up(const struct merge *m)
{
	struct sums s = { .without_summary = job_summary_missing(m->summary) };

	add_layers(&s, m);
	for (size_t i = 0; i < m->nnodes; i++)
		report_add_node(&s, &m->nodes[i]);
	return s;
}

/* ---- for people ---- */

static const char *report_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

struct cell { char text[48]; };

static struct cell report_duration(int64_t ns)
{
	static const struct { double ns; const char *unit; } units[] = {
		{ 86400e9, "days" }, { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" },
	};
	struct cell cell;
	size_t u = 0;

	while (u < 4 && (double)llabs(ns) < units[u].ns)
		u++;
	snprintf(cell.text, sizeof(cell.text), u == 4 ? "%.0f %s" : "%.3f %s", ns / units[u].ns, units[u].unit);
	return cell;
}

static void print_events(FILE *out, const struct merge *m, const struct sums *s)
{
	const struct location_counts *l = &m->locations;

	fprintf(out, "events %" PRIu64 " in %" PRIu64 " files: ", s->events, s->locations);
	if (l->linked == s->locations)
		fputs("linked, as they are\n", out);
	else
		fprintf(out, "%" PRIu64 " linked, %" PRIu64 " cloned, %" PRIu64 " copied (%" PRIu64 " bytes)\n", l->linked,
			l->cloned, l->copied, l->bytes_copied);
}

static void print_handles(FILE *out, const struct merge *m)
{
	fprintf(out, "files %u: %u shared by the nodes (%" PRIu64 " definitions joined), %u local to a node, %u of unknown scope\n",
		m->nfiles, m->shared_files, m->joined_files, m->node_files, m->unknown_files);
	fprintf(out, "handles %u: %u opened by ranks of several nodes together\n", m->nhandles, m->joined_handles);
	if (m->unmatched_handles)
		fprintf(out,
			"note: %u collective handles are recorded on one node only, or could not be matched with those of the "
			"others\n",
			m->unmatched_handles);
	if (m->unordered_comms)
		fprintf(out,
			"note: %u communicators over several nodes: their members stand in the order of MPI_COMM_WORLD, which need "
			"not be their own\n",
			m->unordered_comms);
	if (m->split_handles)
		fprintf(out, "note: %u handles were opened together, but on files that are local to the nodes: they have no file\n",
			m->split_handles);
}

static void print_clocks(FILE *out, const struct merge *m)
{
	const struct clock_report *c = &m->clocks;

	if (m->nnodes < 2)
		return;
	fprintf(out, "clocks: offsets from the first node's %s to %s, changed by at most %s while recording\n",
		report_duration(c->offset_min_ns).text, report_duration(c->offset_max_ns).text,
		report_duration(c->change_max_ns).text);
	if (c->error_known)
		fprintf(out, "clocks: estimated error between nodes %s\n", report_duration(c->error_ns).text);
	else
		fprintf(out, "clocks: error unknown: %u of %zu nodes have no synchronised clock\n", c->unsynchronized, m->nnodes);
	if (!c->meetings)
		fputs("clocks: no collective open or close over several nodes to check them by\n", out);
	else if (c->violated)
		fprintf(out, "clocks: %" PRIu64 " of %" PRIu64 " collective opens and closes contradict them, by up to %s\n",
			c->violated, c->meetings, report_duration(-c->slack_ns).text);
	else
		fprintf(out, "clocks: all %" PRIu64 " collective opens and closes agree with them, with %s to spare\n", c->meetings,
			report_duration(c->slack_ns).text);
}

static void report_print_losses(FILE *out, const struct merge *m, const struct sums *s)
{
	static const struct { enum node_total total; const char *name; } lines[] = {
		{ TOTAL_LATE, "records late" }, { TOTAL_ABANDONED, "calls abandoned" },
		{ TOTAL_RETURNS_WITHOUT_FRAME, "returns without frame" }, { TOTAL_FRAMES_TOO_DEEP, "calls nested too deep" },
	};
	uint64_t notes = 0, excluded = 0, local_ids = 0;
	bool complete = true;

	for (size_t i = 0; i < m->nnodes; i++) {
		complete &= m->nodes[i].head.complete;
		notes += m->nodes[i].head.nnotes;
		excluded += m->nodes[i].head.nexcluded;
		local_ids += m->nodes[i].head.local_ids;
	}
	fprintf(out, "records lost %s%" PRIu64 "\n", complete ? "" : "at least ", s->totals[TOTAL_LOST]);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (s->totals[lines[i].total])
			fprintf(out, "%s %" PRIu64 "\n", lines[i].name, s->totals[lines[i].total]);
	if (s->without_summary)
		fprintf(out, "note: %u node%s without summary.json: not in the tables above\n", s->without_summary,
			report_plural(s->without_summary));
	if (local_ids && m->nnodes > 1)
		fprintf(out, "note: %" PRIu64 " node%s recorded a whole job: matching ids are unique for each thread only\n",
			local_ids, report_plural(local_ids));
	if (excluded)
		fprintf(out, "excluded by filters: %" PRIu64 " line%s, in the archive's properties IOPROBE::LEFT_OUT_*\n", excluded,
			report_plural(excluded));
	if (notes)
		fprintf(out, "notes of the nodes: %" PRIu64 ", in the archive's properties IOPROBE::NOTE_*\n", notes);
}

int report_text(FILE *out, const struct merge *m)
{
	struct sums s = add_up(m);
	struct summary_report layers = { .layers = s.layers, .nlayers = s.nlayers };

	fprintf(out, "%s: %zu node%s, %" PRIu64 " rank%s, %" PRIu64 " process%s, %" PRIu64 " thread%s, %.6f s\n\n",
		merge_job_name(m), m->nnodes, report_plural(m->nnodes), s.ranks, report_plural(s.ranks), s.processes,
		s.processes == 1 ? "" : "es", s.locations, report_plural(s.locations), (m->end_ns - m->begin_ns) / 1e9);
	summary_text_layers(out, &layers);
	job_summary_print_files(out, m->summary);
	print_handles(out, m);
	print_events(out, m, &s);
	print_clocks(out, m);
	report_print_losses(out, m, &s);
	return ferror(out) ? -EIO : 0;
}

/* ---- what must not be overlooked ---- */

void report_warnings(FILE *err, const struct merge *m)
{
	const struct clock_report *c = &m->clocks;
	char *missing = merge_missing_ranks(m);

	for (size_t i = 0; i < m->nnodes; i++)
		if (!m->nodes[i].head.complete)
			fprintf(err, "ioprobe: the recording of node %s was interrupted: later records are missing\n",
				merge_host(m, i));
	if (missing)
		fprintf(err, "ioprobe: ranks are missing: %s\n", missing);
	free(missing);
	if (c->violated && (!c->error_known || -c->slack_ns > (int64_t)c->error_ns))
		fprintf(err,
			"ioprobe: the clocks of nodes %s and %s disagree by at least %s, %s: a collective call was left on %s "
			"before it was entered on %s\n",
			merge_host(m, c->early), merge_host(m, c->late), report_duration(-c->slack_ns).text,
			c->error_known ? "more than they should" : "and they are not synchronised", merge_host(m, c->early),
			merge_host(m, c->late));
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].head.clock_steps)
			fprintf(err,
				"ioprobe: the clock of node %s was set while it recorded (%" PRIu64
				" times): its times follow the clock after the last time\n",
				merge_host(m, i), m->nodes[i].head.clock_steps);
	if (c->change_max_ns > 1000000)
		fprintf(err, "ioprobe: the clock of node %s was set while it recorded: its times are uncertain by %s\n",
			merge_host(m, c->change_node), report_duration(c->change_max_ns).text);
}

/* ---- for programs ---- */

static json_t *report_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *nodes_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->nnodes; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}", "host", merge_host(m, i), "directory",
						m->nodes[i].dir, "ranks", report_number(m->nodes[i].head.ranks), "processes",
						report_number(m->nodes[i].head.processes), "threads",
						report_number(m->nodes[i].locations.n), "complete", m->nodes[i].head.complete));
	return list;
}

static json_t *report_layers_json(const struct sums *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->nlayers; i++) {
		const struct summary_layer *l = &s->layers[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", l->name, "calls",
						      report_number(l->calls), "failed", report_number(l->failed), "time_ns",
						      report_number(l->time_ns), "system_time_ns",
						      l->system_known ? report_number(l->system_ns) : json_null(), "bytes_read",
						      report_number(l->counts.bytes_read), "bytes_written",
						      report_number(l->counts.bytes_written), "reads_of_unknown_size",
						      report_number(l->counts.unknown_reads), "writes_of_unknown_size",
						      report_number(l->counts.unknown_writes)));
	}
	return list;
}

static json_t *clocks_json(const struct merge *m)
{
	const struct clock_report *c = &m->clocks;
	json_t *o =
		json_pack("{s:I, s:I, s:I, s:i, s:o, s:i, s:o, s:o}", "offset_min_ns", (json_int_t)c->offset_min_ns,
			  "offset_max_ns", (json_int_t)c->offset_max_ns, "offset_change_ns", (json_int_t)c->change_max_ns,
			  "nodes_with_clock_steps", (int)c->stepped, "error_ns",
			  c->error_known ? report_number(c->error_ns) : json_null(), "unsynchronized_nodes", (int)c->unsynchronized,
			  "collectives_checked", report_number(c->meetings), "collectives_violated", report_number(c->violated));

	json_object_set_new(o, "collectives_least_slack_ns", c->meetings ? json_integer(c->slack_ns) : json_null());
	return o;
}

int report_json(FILE *out, const struct merge *m)
{
	struct sums s = add_up(m);
	char *missing = merge_missing_ranks(m);
	json_t *root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s*, s:o, s:o}", "job", merge_job_name(m), "nodes", nodes_json(m),
				 "ranks", report_number(s.ranks), "threads", report_number(s.locations), "events",
				 report_number(s.events), "duration_ns", report_number(m->end_ns - m->begin_ns), "missing_ranks",
				 missing, "layers", report_layers_json(&s), "clocks", clocks_json(m));
	json_t *files = json_pack("{s:i, s:i, s:i, s:o}", "shared", (int)m->shared_files, "node", (int)m->node_files, "unknown",
				  (int)m->unknown_files, "joined", report_number(m->joined_files));
	json_t *handles = json_pack("{s:i, s:i, s:i, s:i}", "all", (int)m->nhandles, "joined", (int)m->joined_handles, "unmatched",
				    (int)m->unmatched_handles, "without_file", (int)m->split_handles);
	json_t *event_files = json_pack("{s:o, s:o, s:o}", "linked", report_number(m->locations.linked), "cloned",
					report_number(m->locations.cloned), "copied", report_number(m->locations.copied));
	int error = json_object_set_new(root, "files", files) | json_object_set_new(root, "handles", handles) |
		    json_object_set_new(root, "event_files", event_files) |
		    json_object_set_new(root, "records_lost", report_number(s.totals[TOTAL_LOST]));

	free(missing);
	if (!error && (json_dumpf(root, out, JSON_INDENT(2)) || fputc('\n', out) == EOF))
		error = -EIO;
	json_decref(root);
	return error ? -EIO : 0;
}
