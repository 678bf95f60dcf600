/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Aggregators by fact: which processes, on which nodes, make the system calls of collective calls. Hints say how many there may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/detectors.h"
#include "analysis/instances.h"
#include "analysis/words.h"
#include "trace/file_facts.h"

#define MANY_RANKS 8
#define SERIAL_PART 20          /* system calls of one twentieth of the call's time, at least */

static uint32_t detect_aggregators_node_of(const struct analysis *a, uint32_t location)
{
	uint32_t group = location < a->trace->locations.n ? a->trace->locations.v[location].group : TRACE_NONE;
	uint32_t node = group < a->trace->groups.n ? a->trace->groups.v[group].node : TRACE_NONE;

	while (node < a->trace->nodes.n && (!a->trace->nodes.v[node].class || strcmp(a->trace->nodes.v[node].class, "node")))
		node = a->trace->nodes.v[node].parent;
	return node;
}

/* All collective calls on one file. */
struct use {
	uint32_t file;
	uint64_t members, member_nodes, workers, worker_nodes, bytes, n, most_bytes, most_ns, instances, took;
	uint32_t worker;                /* that moves most */
};

struct worker { bool member; uint64_t bytes, n, ns; };

static uint64_t count_nodes(const struct analysis *a, const struct worker *of, bool *seen, bool workers)
{
	uint64_t n = 0;

	memset(seen, 0, a->trace->nodes.n + 1);
	for (uint32_t i = 0; i < a->trace->locations.n; i++) {
		uint32_t node = detect_aggregators_node_of(a, i);

		if ((workers ? of[i].bytes > 0 : of[i].member) && node < a->trace->nodes.n && !seen[node]) {
			seen[node] = true;
			n++;
		}
	}
	return n;
}

/* The collective calls of the file that begin at index i; returns the index behind them. */
static size_t sum_use(const struct analysis *a, size_t i, struct worker *of, bool *seen, struct use *u)
{
	const struct instance *v = a->facts->instances.v;
	struct instance_sum s;
	size_t j;

	memset(of, 0, (a->trace->locations.n + 1) * sizeof(*of));
	*u = (struct use){ .file = v[i].file, .worker = TRACE_NONE };
	for (j = i; j < a->facts->instances.n && v[j].file == v[i].file; j++) {
		of[v[j].location].member = true;
		of[v[j].location].bytes += v[j].system_bytes;
		of[v[j].location].n += v[j].system_n;
		of[v[j].location].ns += v[j].system_ns;
	}
	for (size_t k = i; k < j; u->instances++) {
		k = instance_sum(a->facts, k, &s);
		u->took += s.last_leave > s.last_enter ? s.last_leave - s.last_enter : 0;
	}
	for (uint32_t l = 0; l < a->trace->locations.n; l++) {
		u->members += of[l].member;
		u->workers += of[l].bytes > 0;
		u->bytes += of[l].bytes;
		u->n += of[l].n;
		if (of[l].bytes > u->most_bytes) {
			u->most_bytes = of[l].bytes;
			u->most_ns = of[l].ns;
			u->worker = l;
		}
	}
	u->member_nodes = count_nodes(a, of, seen, false);
	u->worker_nodes = count_nodes(a, of, seen, true);
	return j;
}

/* As many as the program asked for by the hint cb_nodes; 0: it did not, or with several values. */
static uint64_t wanted_workers(const struct analysis *a, uint32_t file)
{
	const char *value = trace_fact_value(a->trace, file, "MPI-IO", "", "Hint cb_nodes");
	char *end = NULL;
	uint64_t n = value ? strtoull(value, &end, 10) : 0;

	return end && !*end ? n : 0;
}

/* What is wrong with it, NULL if nothing is; saved_ns: what may be saved on the worker with most. */
static const char *judge_use(const struct analysis *a, const struct use *u, uint64_t *saved_ns)
{
	const struct trace_mount *mount = trace_mount_of(&a->trace->files.v[u->file]);
	uint64_t block = mount->stripe_bytes ? mount->stripe_bytes : SMALL_BYTES, nodes = u->member_nodes ? u->member_nodes : 1;
	uint64_t wanted = wanted_workers(a, u->file);

	*saved_ns = 0;
	if (!u->workers || u->bytes < a->thresholds.serial_bytes || u->most_ns * SERIAL_PART < u->took)
		return NULL;
	if (nodes > 1)
		*saved_ns = u->most_ns - u->most_ns / nodes;
	if (u->workers == 1 && (nodes > 1 || u->members >= MANY_RANKS))
		return "one process does them all";
	if (nodes > 1 && u->worker_nodes == 1)
		return "all of them are on one node";
	if (u->workers > 4 * nodes && u->n && u->bytes / u->n < block) {
		*saved_ns = saving_larger(a, &(struct removed){ a->facts->lowest, u->n / u->workers, 0, u->most_ns, 0, 0 }, u->file,
					  DIR_WRITE, u->bytes / u->workers)
				    .high_ns;
		return "they are many, and their requests small";
	}
	if (wanted > u->workers && u->workers < u->members) {
		*saved_ns = u->most_ns - u->most_ns * u->workers / (wanted < u->members ? wanted : u->members);
		return "fewer than the hint cb_nodes asks for";
	}
	*saved_ns = u->most_ns - u->most_ns / u->most_bytes * (u->bytes / u->workers);
	if (u->workers > 1 && mount->stripe_count > 1 && mount->stripe_count % u->workers && u->workers % mount->stripe_count)
		return "their number neither divides that of the stripes nor is a multiple of it: stripes have several writers";
	return u->workers > 1 && u->most_bytes * u->workers > u->bytes + u->bytes / 2 ? "their shares are unequal" : NULL;
}

static void add_use(struct analysis *a, struct builder *b, const struct use *u, const struct worker *of, uint64_t saved_ns)
{
	for (uint32_t i = 0; i < a->trace->locations.n; i++)
		if (of[i].bytes)
			builder_add(b, u->file, i,
				    &(struct evidence){ of[i].n, of[i].bytes, of[i].ns, 0, 0,
							saving_at_most(i == u->worker ? saved_ns : 0,
								       "the system calls of the process with most, spread over the "
								       "nodes or evenly; unknown on one node") });
}

static void detect_aggregators(struct analysis *a, const struct detector *d)
{
	struct worker *of = calloc(a->trace->locations.n + 1, sizeof(*of));
	bool *seen = calloc(a->trace->nodes.n + 1, sizeof(*seen));
	struct builder *b = of && seen ? builder_new(a, d) : NULL;
	const char *worst = NULL;
	struct use most = { 0 }, u;
	struct finding *f;
	char bytes[24];

	a->failed |= !of || !seen;
	for (size_t i = 0; b && i < a->facts->instances.n;) {
		uint64_t saved_ns;
		const char *wrong;

		i = sum_use(a, i, of, seen, &u);
		wrong = judge_use(a, &u, &saved_ns);
		if (!wrong)
			continue;
		add_use(a, b, &u, of, saved_ns);
		if (u.most_ns >= most.most_ns) {
			most = u;
			worst = wrong;
		}
	}
	words_bytes(bytes, sizeof(bytes), most.bytes);
	f = builder_finish(
		b, "%llu of %llu ranks, on %llu of %llu nodes, make the system calls of %llu collective calls, for %s: %s",
		(unsigned long long)most.workers, (unsigned long long)most.members, (unsigned long long)most.worker_nodes,
		(unsigned long long)most.member_nodes, (unsigned long long)most.instances, bytes, worst ? worst : "");
	if (f)
		f->inferred = true;
	free(of);
	free(seen);
}

const struct detector detector_X16 = {
	.code = "X16",
	.title = "too few, too many or unequal aggregators",
	.on = "POSIX below MPI-IO",
	.needs = NEED_SYSTEM | NEED_MPIIO | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "collective calls move serial_bytes of a file, and: one process of 8 or of several nodes makes all system calls; "
		"or all that make them are on one of several nodes; or they are more than 4 for each node, with requests smaller "
		"than a stripe; or they are fewer than the hint cb_nodes asked for; or their number does not fit that of the "
		"stripes; or one has 1.5 times the mean",
	.why = "one node's link, memory and file system client carry the data of all; or many small requests meet at the servers",
	.topic = "aggregators",
	.explains = "X02 X10 X19 P05 P15 P06 P16",
	.test = "synthetic_aggregators",
	.detect = detect_aggregators,
};

/* ---- their number, as other tools judge it by the hints ---- */

static void detect_number(struct analysis *a, const struct detector *d, int sign)
{
	struct worker *of = calloc(a->trace->locations.n + 1, sizeof(*of));
	bool *seen = calloc(a->trace->nodes.n + 1, sizeof(*seen));
	struct builder *b = of && seen ? builder_new(a, d) : NULL;
	struct finding *f;
	struct use u = { 0 }, last = { 0 };

	a->failed |= !of || !seen;
	for (size_t i = 0; b && i < a->facts->instances.n;) {
		i = sum_use(a, i, of, seen, &u);
		if (!u.workers || (u.workers > u.member_nodes) - (u.workers < u.member_nodes) != sign)
			continue;
		add_use(a, b, &u, of, 0);
		last = u;
	}
	f = builder_finish(b, "%llu aggregator%s on %llu node%s", (unsigned long long)last.workers, last.workers == 1 ? "" : "s",
			   (unsigned long long)last.member_nodes, last.member_nodes == 1 ? "" : "s");
	if (f)
		f->severity = SEVERITY_NOTE;
	free(of);
	free(seen);
}

static void detect_fewer(struct analysis *a, const struct detector *d) { detect_number(a, d, -1); }
static void detect_more(struct analysis *a, const struct detector *d) { detect_number(a, d, 1); }
static void detect_equal(struct analysis *a, const struct detector *d) { detect_number(a, d, 0); }

#define NUMBER(c, what, function, is_fine, name) \
	const struct detector detector_##c = { \
		.code = #c, \
		.title = (what), \
		.on = "POSIX below MPI-IO", \
		.info = true, \
		.fine = (is_fine), \
		.needs = NEED_SYSTEM | NEED_MPIIO | NEED_RANKS, \
		.when = "by the processes that made the system calls of a file's collective calls, not by hints", \
		.why = "each node's link should carry its share; X16 says where it costs", \
		.test = (name), \
		.detect = (function), \
	}
NUMBER(M08, "fewer aggregators than nodes", detect_fewer, false, "synthetic_aggregators");
NUMBER(M09, "more aggregators than nodes", detect_more, false, "synthetic_aggregators_many");
NUMBER(M10, "as many aggregators as nodes", detect_equal, true, "synthetic_aggregators_equal");

/* ---- collective above, independent below ---- */

static bool degraded_fires(const struct analysis *a, const struct file_layer *f)
{
	uint64_t n = f->sum->dir[0].n + f->sum->dir[1].n;

	(void)a;
	return f->n > 1 && f->sum->degraded >= 10 && f->sum->degraded * 2 >= n;
}

static struct evidence detect_aggregators_degraded(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	(void)a, (void)f;
	return (struct evidence){ s->degraded,
				  s->degraded_bytes,
				  s->degraded_ns,
				  0,
				  0,
				  saving_at_most(s->degraded_ns,
						 "time of these operations; the exchange between ranks is not subtracted") };
}

static void detect_aggregators_detect_degraded(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ LAYER_MPIIO, degraded_fires, detect_aggregators_degraded }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence),
			 "%llu independent operations of MPI-IO inside collective calls of the layer above",
			 (unsigned long long)f->n);
}

const struct detector detector_X03 = {
	.code = "X03",
	.title = "a collective call becomes independent ones in MPI-IO",
	.on = "MPI-IO below netCDF, PnetCDF or HDF5",
	.needs = NEED_MPIIO | NEED_RANKS | NEED_UPPER,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "at least 10 operations of MPI-IO on a shared file, half of all, are independent inside a collective data call of "
		"an upper layer. Archives do not say so of HDF5 and netCDF",
	.why = "the library could not do it together: filters, types that differ or a selection that it does not support",
	.topic = "collective",
	.explains = "M02 M03 P05 P15 P06 P16",
	.test = "synthetic_degraded_above",
	.detect = detect_aggregators_detect_degraded,
};
