/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Refuses what must not be merged: archives of different versions, of different jobs, of one node, with the same location ids.
 */
#include "merge/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int merge_fail(struct merge *m, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(m->err, m->err_len, format, args);
	va_end(args);
	return error;
}

const char *merge_host(const struct merge *m, size_t node)
{
	return node_string(&m->nodes[node], m->nodes[node].head.host);
}

/* ---- versions ---- */

static int check_versions(struct merge *m)
{
	const struct node *first = &m->nodes[0];
	const char *version = node_string(first, first->head.version);

	for (size_t i = 0; i < m->nnodes; i++) {
		const struct node *node = &m->nodes[i];
		const char *other = node_string(node, node->head.version);

		if (node->head.version == REF_NONE)
			return merge_fail(m, -EINVAL, "cannot merge %s: the version of ioprobe that recorded it is missing",
					  node->dir);
		if (strcmp(version, other) != 0)
			return merge_fail(m, -EINVAL,
					  "cannot merge %s with %s: recorded by different versions of ioprobe, %s and %s",
					  node->dir, first->dir, other, version);
		if (node->head.event_chunk_bytes != first->head.event_chunk_bytes)
			return merge_fail(m, -EINVAL, "cannot merge %s with %s: their events are in chunks of different sizes",
					  node->dir, first->dir);
	}
	return 0;
}

/* ---- one archive per node ---- */

struct host { const char *name; size_t node; };

static int job_by_name(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->node < y->node ? -1 : 1;
}

static int check_hosts(struct merge *m)
{
	struct host *hosts = calloc(m->nnodes, sizeof(*hosts));
	int ret = hosts ? 0 : merge_fail(m, -ENOMEM, "out of memory");

	for (size_t i = 0; i < m->nnodes && !ret; i++)
		hosts[i] = (struct host){ merge_host(m, i), i };
	if (!ret)
		qsort(hosts, m->nnodes, sizeof(*hosts), job_by_name);
	for (size_t i = 1; i < m->nnodes && !ret; i++)
		if (!strcmp(hosts[i - 1].name, hosts[i].name))
			ret = merge_fail(m, -EINVAL, "cannot merge %s with %s: both are of node %s", m->nodes[hosts[i].node].dir,
					 m->nodes[hosts[i - 1].node].dir, hosts[i].name);
	free(hosts);
	return ret;
}

struct place { uint64_t id; uint32_t node; };

static int job_by_id(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Ids are made unique when they are recorded, by a hash: two nodes have the same ones once in some 10^9 pairs. */
static int check_locations(struct merge *m)
{
	size_t total = 0, n = 0;
	struct place *places;
	int ret = 0;

	for (size_t i = 0; i < m->nnodes; i++)
		total += m->nodes[i].locations.n;
	places = calloc(total + 1, sizeof(*places));
	if (!places)
		return merge_fail(m, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t l = 0; l < m->nodes[i].locations.n; l++)
			places[n++] = (struct place){ m->nodes[i].locations.v[l].id, i };
	qsort(places, n, sizeof(*places), job_by_id);
	for (size_t i = 1; i < n && !ret; i++)
		if (places[i - 1].id == places[i].id)
			ret = merge_fail(m, -EINVAL, "cannot merge %s with %s: both have the location id %" PRIu64,
					 m->nodes[places[i].node].dir, m->nodes[places[i - 1].node].dir, places[i].id);
	free(places);
	return ret;
}

/* ---- one job ---- */

/* The names of an archive's job: the batch system's, and those of its launches. */
static bool shares_a_name(const struct node *a, const struct node *b)
{
	if (a->head.batch_job != REF_NONE && b->head.batch_job != REF_NONE)
		return !strcmp(node_string(a, a->head.batch_job), node_string(b, b->head.batch_job));
	for (size_t i = 0; i < a->groups.n; i++)
		for (size_t k = 0; k < b->groups.n && a->groups.v[i].launch != REF_NONE; k++)
			if (b->groups.v[k].launch != REF_NONE &&
			    !strcmp(node_string(a, a->groups.v[i].launch), node_string(b, b->groups.v[k].launch)))
				return true;
	return false;
}

static const char *job_name(const struct node *node)
{
	if (node->head.batch_job != REF_NONE)
		return node_string(node, node->head.batch_job);
	for (size_t i = 0; i < node->groups.n; i++)
		if (node->groups.v[i].launch != REF_NONE)
			return node_string(node, node->groups.v[i].launch);
	return NULL;
}

/* Nodes need not share a name with the first one: a launch may use a part of the job's nodes. */
static int job_check_job(struct merge *m)
{
	bool *known = calloc(m->nnodes, sizeof(*known)), event = known;
	int ret = known ? 0 : merge_fail(m, -ENOMEM, "out of memory");

	if (known)
		known[0] = true;
	while (event) {
		event = false;
		for (size_t i = 1; i < m->nnodes; i++)
			for (size_t k = 0; k < m->nnodes && !known[i]; k++)
				if (known[k] && shares_a_name(&m->nodes[i], &m->nodes[k]))
					known[i] = event = true;
	}
	for (size_t i = 0; i < m->nnodes && !ret; i++) {
		const char *name = job_name(&m->nodes[i]), *first = job_name(&m->nodes[0]);

		if (!name && m->nnodes > 1)
			ret = merge_fail(m, -EINVAL,
					 "cannot merge %s: it names no job (--same-job: merge it as part of the others' job)",
					 m->nodes[i].dir);
		else if (!known[i])
			ret = merge_fail(m, -EINVAL, "cannot merge %s with %s: they are of different jobs, %s and %s",
					 m->nodes[i].dir, m->nodes[0].dir, name, first ? first : "an unknown one");
	}
	free(known);
	return ret;
}

int job_check(struct merge *m, bool same_job)
{
	int ret = check_versions(m);

	ret = ret ? ret : check_hosts(m);
	ret = ret ? ret : check_locations(m);
	return ret || same_job ? ret : job_check_job(m);
}

/* ---- properties of the job ---- */

const char *merge_batch_job(const struct merge *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].head.batch_job != REF_NONE)
			return node_string(&m->nodes[i], m->nodes[i].head.batch_job);
	return NULL;
}

/* The file name of the first rank's program; NULL if unknown. */
static const char *first_program(const struct merge *m)
{
	const struct merged_group *first = m->nranks ? &m->groups.v[0] : NULL;
	const struct node *node = first ? &m->nodes[first->node] : NULL;

	for (size_t i = 0; node && i < node->properties.n; i++) {
		const struct node_property *p = &node->properties.v[i];

		if (p->group == first->group && p->text != REF_NONE && !strcmp(node_string(node, p->name), "Executable")) {
			const char *path = node_string(node, p->text), *slash = strrchr(path, '/');

			return slash ? slash + 1 : path;
		}
	}
	return NULL;
}

/* Launchers' own names (4214161409) say nothing to users. */
const char *merge_job_name(const struct merge *m)
{
	const char *name = merge_batch_job(m);

	name = name ? name : first_program(m);
	for (size_t i = 0; i < m->launches.n && !name; i++)
		if (m->launches.v[i].name != REF_NONE)
			name = m->strings.v.v[m->launches.v[i].name];
	return name ? name : "unknown job";
}

static void job_print_missing(FILE *out, int64_t from, int64_t to, bool *any)
{
	if (from > to)
		return;
	fprintf(out, *any ? ", %" PRId64 : "%" PRId64, from);
	if (to > from)
		fprintf(out, "-%" PRId64, to);
	*any = true;
}

/* Ranks are the first groups, by launch and rank. */
static bool print_launch(FILE *out, const struct merge *m, size_t launch, size_t *group)
{
	const struct launch *l = &m->launches.v[launch];
	int64_t next = 0;
	bool any = false;

	for (uint64_t i = 0; i < l->ranks; i++, (*group)++) {
		const struct merged_group *g = &m->groups.v[*group];
		int64_t rank = m->nodes[g->node].groups.v[g->group].rank;

		if (l->size >= 0)
			job_print_missing(out, next, rank - 1, &any);
		next = rank + 1;
	}
	if (l->size >= 0)
		job_print_missing(out, next, l->size - 1, &any);
	if (any)
		fprintf(out, " of %" PRId64, l->size);
	if (any && m->launches.n > 1)
		fprintf(out, " (job %zu)", launch + 1);
	return any;
}

char *merge_missing_ranks(const struct merge *m)
{
	char *text = NULL, *part = NULL;
	size_t len, part_len, group = 0;
	FILE *out = open_memstream(&text, &len);
	bool any = false;

	for (size_t i = 0; out && i < m->launches.n; i++) {
		FILE *one = open_memstream(&part, &part_len);
		bool missing = one && print_launch(one, m, i, &group);

		if (one)
			fclose(one);
		if (missing)
			fprintf(out, "%s%s", any ? "; " : "", part);
		any |= missing;
		free(part);
		part = NULL;
	}
	if (out)
		fclose(out);
	if (any)
		return text;
	free(text);
	return NULL;
}
