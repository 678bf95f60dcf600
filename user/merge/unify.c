/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Gives everything that the nodes define its ref in the merged archive. Regions, attributes, paradigms and strings are the same
 * where they say the same; a file is the same where it is on a file system that the nodes share; ranks are numbered over all nodes.
 */
#include "merge/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct merge *m)
{
	return merge_fail(m, -ENOMEM, "out of memory");
}

static uint32_t unify_text_of(const struct node_map *map, const struct node *node, uint32_t string)
{
	return string < node->strings.n ? map->strings[string] : REF_NONE;
}

/* ---- strings ---- */

static int map_init(struct node_map *map, const struct node *node)
{
	struct { uint32_t **v; size_t n; } arrays[] = {
		{ &map->strings, node->strings.n }, { &map->regions, node->regions.n }, { &map->attributes, node->attributes.n },
		{ &map->groups, node->groups.n }, { &map->comms, node->comms.n }, { &map->files, node->files.n },
		{ &map->handles, node->handles.n }, { &map->lines, node->lines.n }, { &map->contexts, node->contexts.n },
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		*arrays[i].v = calloc(arrays[i].n + 1, sizeof(uint32_t));
		if (!*arrays[i].v)
			return -ENOMEM;
	}
	map->fileless = calloc(node->handles.n + 1, sizeof(*map->fileless));
	return map->fileless ? 0 : -ENOMEM;
}

static int unify_strings(struct merge *m, size_t n)
{
	const struct node *node = &m->nodes[n];

	for (size_t i = 0; i < node->strings.n; i++) {
		m->maps[n].strings[i] = texts_ref(&m->strings, node_string(node, i));
		if (m->maps[n].strings[i] == REF_NONE)
			return out_of_memory(m);
	}
	return 0;
}

/* ---- regions, attributes, paradigms ---- */

/* fresh counts what is new. */
static int unify_assign(struct merge *m, struct index *index, struct index_key key, uint32_t *fresh, uint32_t *ref)
{
	*ref = *fresh;
	if (index_get(index, key, ref))
		return out_of_memory(m);
	*fresh += *ref == *fresh;
	return 0;
}

static int unify_regions(struct merge *m, struct index *index, size_t n)
{
	const struct node *node = &m->nodes[n];
	struct node_map *map = &m->maps[n];
	int ret = 0;

	for (size_t i = 0; i < node->regions.n && !ret; i++) {
		const struct node_region *r = &node->regions.v[i];
		struct index_key key = { { unify_text_of(map, node, r->name), unify_text_of(map, node, r->description), r->role,
					   r->paradigm, unify_text_of(map, node, r->file) } };

		ret = unify_assign(m, index, key, &m->nregions, &map->regions[i]);
	}
	return ret;
}

static int unify_lines(struct merge *m, struct index *index, size_t n)
{
	const struct node *node = &m->nodes[n];
	struct node_map *map = &m->maps[n];
	int ret = 0;

	for (size_t i = 0; i < node->lines.n && !ret; i++) {
		struct index_key key = { { unify_text_of(map, node, node->lines.v[i].file), node->lines.v[i].line } };

		ret = unify_assign(m, index, key, &m->nlines, &map->lines[i]);
	}
	return ret;
}

/* A parent has its ref before its children. */
static int unify_contexts(struct merge *m, struct index *index, size_t n)
{
	const struct node *node = &m->nodes[n];
	struct node_map *map = &m->maps[n];
	int ret = 0;

	for (size_t i = 0; i < node->contexts.n && !ret; i++) {
		const struct node_context *c = &node->contexts.v[i];
		struct index_key key = { { map->regions[c->region], c->line == REF_NONE ? REF_NONE : map->lines[c->line],
					   c->parent == REF_NONE ? REF_NONE : map->contexts[c->parent] } };

		ret = unify_assign(m, index, key, &m->ncontexts, &map->contexts[i]);
	}
	return ret;
}

static int unify_attributes(struct merge *m, struct index *index, size_t n)
{
	const struct node *node = &m->nodes[n];
	struct node_map *map = &m->maps[n];
	int ret = 0;

	for (size_t i = 0; i < node->attributes.n && !ret; i++) {
		struct index_key key = { { unify_text_of(map, node, node->attributes.v[i].name), node->attributes.v[i].type } };

		ret = unify_assign(m, index, key, &m->nattributes, &map->attributes[i]);
	}
	return ret;
}

/* No table maps the paradigm of a deleted file, so they must have the same refs: tables in the same order, a site's own ones
 * last. */
static int check_paradigms(struct merge *m, size_t n)
{
	const struct node *first = &m->nodes[0], *node = &m->nodes[n];

	for (size_t i = 0; i < node->paradigms.n && i < first->paradigms.n; i++)
		if (strcmp(node_string(node, node->paradigms.v[i].identification),
			   node_string(first, first->paradigms.v[i].identification)))
			return merge_fail(m, -EINVAL,
					  "cannot merge %s with %s: recorded with different probe tables (layer %zu is %s, and %s)",
					  node->dir, first->dir, i + 1, node_string(node, node->paradigms.v[i].identification),
					  node_string(first, first->paradigms.v[i].identification));
	if (node->paradigms.n != first->paradigms.n)
		return merge_fail(m, -EINVAL, "cannot merge %s with %s: recorded with different probe tables (%zu and %zu layers)",
				  node->dir, first->dir, node->paradigms.n, first->paradigms.n);
	return 0;
}

/* ---- launches and ranks ---- */

static uint32_t launch_get(struct merge *m, uint32_t name)
{
	struct launch *launch;

	for (size_t i = 0; i < m->launches.n; i++)
		if (m->launches.v[i].name == name)
			return i;
	launch = MODEL_ADD(m->launches);
	if (!launch)
		return REF_NONE;
	*launch = (struct launch){ .name = name, .size = -1 };
	return m->launches.n - 1;
}

struct claim { uint32_t launch, node, group; int64_t rank; };

static int unify_by_rank(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* What a rank knows of its launch; the nodes of one must agree. */
static int join_launch(struct merge *m, const struct claim *claim)
{
	const struct node_group *g = &m->nodes[claim->node].groups.v[claim->group];
	struct launch *launch = &m->launches.v[claim->launch];

	launch->ranks++;
	if (g->launch_size < 0)
		return 0;
	if (launch->size >= 0 && launch->size != g->launch_size)
		return merge_fail(m, -EINVAL,
				  "cannot merge %s: rank %" PRId64 " reports a launch of %" PRId64
				  " ranks, others report %" PRId64,
				  m->nodes[claim->node].dir, g->rank, g->launch_size, launch->size);
	launch->size = g->launch_size;
	return 0;
}

static int unify_add_group(struct merge *m, uint32_t node, uint32_t group)
{
	struct merged_group *slot = MODEL_ADD(m->groups);

	if (!slot)
		return out_of_memory(m);
	*slot = (struct merged_group){ node, group };
	m->maps[node].groups[group] = m->groups.n - 1;
	return 0;
}

static int collect_claims(struct merge *m, struct claim *claims, size_t *n)
{
	for (uint32_t i = 0; i < m->nnodes; i++)
		for (uint32_t g = 0; g < m->nodes[i].groups.n; g++) {
			const struct node_group *group = &m->nodes[i].groups.v[g];
			uint32_t launch;

			if (group->rank < 0)
				continue;
			launch = launch_get(m, unify_text_of(&m->maps[i], &m->nodes[i], group->launch));
			if (launch == REF_NONE)
				return out_of_memory(m);
			claims[(*n)++] = (struct claim){ launch, i, g, group->rank };
		}
	return 0;
}

static int number_ranks(struct merge *m, struct claim *claims, size_t n)
{
	int ret = 0;

	if (n)
		qsort(claims, n, sizeof(*claims), unify_by_rank);
	for (size_t i = 0; i < n && !ret; i++) {
		if (i && claims[i].launch == claims[i - 1].launch && claims[i].rank == claims[i - 1].rank)
			return merge_fail(m, -EINVAL, "cannot merge %s with %s: both have rank %" PRId64,
					  m->nodes[claims[i].node].dir, m->nodes[claims[i - 1].node].dir, claims[i].rank);
		ret = join_launch(m, &claims[i]);
		if (!ret)
			ret = unify_add_group(m, claims[i].node, claims[i].group);
	}
	m->nranks = n;
	return ret;
}

/* Ranks 0 to N-1 come first, then the processes that are none. */
static int unify_groups(struct merge *m)
{
	size_t total = 0, n = 0;
	struct claim *claims;
	int ret;

	for (size_t i = 0; i < m->nnodes; i++)
		total += m->nodes[i].groups.n;
	claims = calloc(total + 1, sizeof(*claims));
	ret = claims ? collect_claims(m, claims, &n) : out_of_memory(m);
	if (!ret)
		ret = number_ranks(m, claims, n);
	free(claims);
	for (uint32_t i = 0; i < m->nnodes && !ret; i++)
		for (uint32_t g = 0; g < m->nodes[i].groups.n && !ret; g++)
			if (m->nodes[i].groups.v[g].rank < 0)
				ret = unify_add_group(m, i, g);
	return ret;
}

/* ---- communicators ---- */

#define SUFFIX_PARTIAL " (members that were recorded)"

/* The name without what the node's own view adds: which of its jobs, and that it has not seen all members. */
static uint32_t base_name(struct merge *m, const char *name, bool *partial)
{
	char *base = strdup(name), *job = base ? strstr(base, " (job ") : NULL, *suffix;
	uint32_t ref;

	if (job)
		*job = 0;
	suffix = base ? strstr(base, SUFFIX_PARTIAL) : NULL;
	*partial = suffix;
	if (suffix)
		*suffix = 0;
	ref = base ? texts_ref(&m->strings, base) : REF_NONE;
	free(base);
	return ref;
}

static uint32_t launch_of_comm(struct merge *m, size_t n, const struct node_comm *comm)
{
	const struct node *node = &m->nodes[n];
	const struct node_group *g = comm->nmembers ? &node->groups.v[node->members.v[comm->first_member]] : NULL;

	return g && g->rank >= 0 ? launch_get(m, unify_text_of(&m->maps[n], node, g->launch)) : REF_NONE;
}

static int unify_add_members(struct merge *m, struct merged_comm *merged, size_t n, const struct node_comm *comm)
{
	uint32_t *grown = reallocarray(merged->members, merged->nmembers + comm->nmembers + 1, sizeof(*grown));

	if (!grown)
		return out_of_memory(m);
	merged->members = grown;
	for (uint32_t i = 0; i < comm->nmembers; i++)
		merged->members[merged->nmembers++] = m->maps[n].groups[m->nodes[n].members.v[comm->first_member + i]];
	merged->nodes++;
	return 0;
}

/* What a communicator is called is how it was made, down from the world: the same on all nodes of a launch. But one whose
 * members were all seen on one node is that node's, another one of the same call may be on the next; and so is one of the
 * processes that share memory. */
static bool is_over_nodes(const struct merge *m, const struct merged_comm *comm)
{
	if (comm->self || comm->launch == REF_NONE)
		return comm->self;
	return comm->world || (comm->partial && !strstr(m->strings.v.v[comm->name], "/MPI_Comm_split_type "));
}

static int unify_comm(struct merge *m, struct index *index, size_t n, uint32_t c)
{
	const struct node_comm *comm = &m->nodes[n].comms.v[c];
	struct merged_comm new = { .launch = comm->self ? REF_NONE : launch_of_comm(m, n, comm), .self = comm->self }, *slot;
	struct index_key key;
	uint32_t *ref = &m->maps[n].comms[c];

	new.name = base_name(m, node_string(&m->nodes[n], comm->name), &new.partial);
	if (new.name == REF_NONE)
		return out_of_memory(m);
	new.world = !comm->self && !strcmp(m->strings.v.v[new.name], "MPI_COMM_WORLD");
	key = (struct index_key){ { new.name, new.launch, comm->self, is_over_nodes(m, &new) ? 0 : 1 + n } };
	*ref = m->comms.n;
	if (index_get(index, key, ref))
		return out_of_memory(m);
	if (*ref == m->comms.n) {
		slot = MODEL_ADD(m->comms);
		if (!slot)
			return out_of_memory(m);
		*slot = new;
	}
	m->comms.v[*ref].partial |= new.partial;
	return unify_add_members(m, &m->comms.v[*ref], n, comm);
}

static int by_ref(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* One node knows the order of the members that it has seen, but not where those of other nodes come between them. */
static void order_members(struct merge *m, struct merged_comm *comm)
{
	const struct launch *launch = comm->launch != REF_NONE ? &m->launches.v[comm->launch] : NULL;

	if (launch && launch->size >= 0 && launch->ranks >= (uint64_t)launch->size)
		comm->partial = false;
	if (comm->nodes < 2 || comm->self)
		return;
	if (comm->nmembers)
		qsort(comm->members, comm->nmembers, sizeof(*comm->members), by_ref);
	m->unordered_comms += !comm->world;
}

static int unify_comms(struct merge *m)
{
	struct index index = { 0 };
	int ret = 0;

	for (size_t i = 0; i < m->nnodes && !ret; i++)
		for (uint32_t c = 0; c < m->nodes[i].comms.n && !ret; c++)
			ret = unify_comm(m, &index, i, c);
	index_deinit(&index);
	for (size_t c = 0; c < m->comms.n && !ret; c++)
		order_members(m, &m->comms.v[c]);
	return ret;
}

/* ---- files ---- */

static int unify_files(struct merge *m, struct index *index, size_t n)
{
	const struct node *node = &m->nodes[n];
	struct node_map *map = &m->maps[n];
	int ret = 0;

	for (size_t i = 0; i < node->files.n && !ret; i++) {
		const struct node_file *f = &node->files.v[i];
		struct index_key key = { { unify_text_of(map, node, f->name), unify_text_of(map, node, f->mount_source),
					   unify_text_of(map, node, f->fs_type), f->directory } };
		uint32_t before = m->nfiles;

		if (f->scope != SCOPE_SHARED) {
			map->files[i] = m->nfiles++;
			m->node_files += f->scope == SCOPE_NODE;
			m->unknown_files += f->scope == SCOPE_UNKNOWN;
			continue;
		}
		ret = unify_assign(m, index, key, &m->nfiles, &map->files[i]);
		m->shared_files += m->nfiles > before;
		m->joined_files += m->nfiles == before;
	}
	return ret;
}

/* ---- all ---- */

int merge_unify(struct merge *m)
{
	struct index regions = { 0 }, lines = { 0 }, contexts = { 0 }, attributes = { 0 }, files = { 0 };
	int ret = 0;

	m->maps = calloc(m->nnodes, sizeof(*m->maps));
	if (!m->maps)
		return out_of_memory(m);
	for (size_t i = 0; i < m->nnodes && !ret; i++) {
		ret = map_init(&m->maps[i], &m->nodes[i]) ? out_of_memory(m) : check_paradigms(m, i);
		ret = ret ? ret : unify_strings(m, i);
		ret = ret ? ret : unify_regions(m, &regions, i);
		ret = ret ? ret : unify_lines(m, &lines, i);
		ret = ret ? ret : unify_contexts(m, &contexts, i);
		ret = ret ? ret : unify_attributes(m, &attributes, i);
		ret = ret ? ret : unify_files(m, &files, i);
	}
	index_deinit(&regions);
	index_deinit(&lines);
	index_deinit(&contexts);
	index_deinit(&attributes);
	index_deinit(&files);
	ret = ret ? ret : unify_groups(m);
	ret = ret ? ret : unify_comms(m);
	if (!ret)
		clocks_relate(m);
	return ret ? ret : unify_handles(m);
}
