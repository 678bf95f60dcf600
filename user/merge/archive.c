/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes the anchor and the global definitions of the merged archive. The nodes' definitions come from their own tables, node by
 * node: a ref that is the next free one is new, a smaller one was defined by an earlier node.
 */
#include "merge/archive.h"
#include "merge/file_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "merge/archive_internal.h"
#include "otf2/otf2_library.h"

#define NODE_MACHINE 0

struct writing {
	struct merge *m;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *writer;
	bool strings_only;              /* first pass: finds the strings that the second one names */
	OTF2_ErrorCode code;            /* first failure; nothing is written after it */
	uint64_t *members;              /* scratch for the largest group */
	struct file_fact *facts;        /* by file */
	size_t nfacts;
	struct file_stripes *stripes;   /* by file */
};

/* One definition in the second pass. The arguments are not evaluated in the first one: strings must be looked up before. */
#define DEFINE(w, type, ...) do { \
	if (!(w)->strings_only && (w)->code == OTF2_SUCCESS) \
		(w)->code = OTF2_GlobalDefWriter_Write##type((w)->writer, __VA_ARGS__); \
} while (0)

static OTF2_StringRef archive_string(struct writing *w, const char *text)
{
	OTF2_StringRef ref = texts_ref(&w->m->strings, text);

	if (ref == REF_NONE && w->code == OTF2_SUCCESS)
		w->code = OTF2_ERROR_ENOMEM;
	return ref;
}

static OTF2_StringRef archive_stringf(struct writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static OTF2_StringRef archive_stringf(struct writing *w, const char *format, ...)
{
	OTF2_StringRef ref;
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		w->code = OTF2_ERROR_ENOMEM;
		return OTF2_UNDEFINED_STRING;
	}
	ref = archive_string(w, text);
	free(text);
	return ref;
}

/* The merged ref of a node's string. */
static OTF2_StringRef archive_text(const struct writing *w, size_t n, uint32_t string_of_node)
{
	return string_of_node < w->m->nodes[n].strings.n ? w->m->maps[n].strings[string_of_node] : OTF2_UNDEFINED_STRING;
}

/* ---- definitions, in the order of the contract ---- */

/* The version of a library that was seen first; the class is parallel where any node's library is. */
static void define_paradigm(struct writing *w, uint32_t ref)
{
	const struct node_paradigm *p = &w->m->nodes[0].paradigms.v[ref];
	OTF2_IoParadigmProperty property = OTF2_IO_PARADIGM_PROPERTY_VERSION;
	OTF2_Type type = OTF2_TYPE_STRING;
	OTF2_AttributeValue version = { .stringRef = OTF2_UNDEFINED_STRING };
	bool parallel = false;

	for (size_t n = 0; n < w->m->nnodes; n++) {
		const struct node_paradigm *other = &w->m->nodes[n].paradigms.v[ref];

		parallel |= other->parallel;
		if (version.stringRef == OTF2_UNDEFINED_STRING)
			version.stringRef = archive_text(w, n, other->version);
	}
	DEFINE(w, IoParadigm, ref, archive_text(w, 0, p->identification), archive_text(w, 0, p->name),
	       parallel ? OTF2_IO_PARADIGM_CLASS_PARALLEL : OTF2_IO_PARADIGM_CLASS_SERIAL,
	       p->os ? OTF2_IO_PARADIGM_FLAG_OS : OTF2_IO_PARADIGM_FLAG_NONE, version.stringRef != OTF2_UNDEFINED_STRING, &property,
	       &type, &version);
}

static void archive_define_paradigms(struct writing *w)
{
	OTF2_StringRef mpi = archive_string(w, "MPI");
	bool uses_mpi = false;

	for (size_t n = 0; n < w->m->nnodes; n++)
		uses_mpi |= w->m->nodes[n].head.uses_mpi;
	if (uses_mpi)
		DEFINE(w, Paradigm, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS);
	for (uint32_t i = 0; i < w->m->nodes[0].paradigms.n; i++)
		define_paradigm(w, i);
}

/* The cluster's name where the archives have one, else the job's. */
static OTF2_StringRef machine_name(struct writing *w)
{
	const struct node *first = &w->m->nodes[0];
	const char *name = node_string(first, first->head.machine);
	bool common = first->head.machine != REF_NONE && (w->m->nnodes == 1 || strcmp(name, merge_host(w->m, 0)) != 0);

	for (size_t n = 1; n < w->m->nnodes; n++)
		common &= !strcmp(name, node_string(&w->m->nodes[n], w->m->nodes[n].head.machine));
	if (common)
		return archive_string(w, name);
	return archive_stringf(w, "%s", merge_job_name(w->m));
}

static void archive_define_system_tree(struct writing *w)
{
	OTF2_StringRef machine = machine_name(w), machine_class = archive_string(w, "machine"),
		       node_class = archive_string(w, "node");

	DEFINE(w, SystemTreeNode, NODE_MACHINE, machine, machine_class, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	DEFINE(w, SystemTreeNodeDomain, NODE_MACHINE, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
	for (uint32_t n = 0; n < w->m->nnodes; n++) {
		DEFINE(w, SystemTreeNode, 1 + n, archive_text(w, n, w->m->nodes[n].head.host), node_class, NODE_MACHINE);
		DEFINE(w, SystemTreeNodeDomain, 1 + n, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
	}
}

static uint32_t launch_of(const struct writing *w, const struct merged_group *group, const struct node_group *g)
{
	uint32_t name = archive_text(w, group->node, g->launch);

	for (uint32_t i = 0; i < w->m->launches.n; i++)
		if (w->m->launches.v[i].name == name)
			return i;
	return 0;
}

static OTF2_StringRef group_name(struct writing *w, const struct merged_group *group, const struct node_group *g)
{
	if (g->rank < 0)
		return archive_text(w, group->node, g->name);
	if (w->m->launches.n > 1)
		return archive_stringf(w, "MPI Rank %" PRId64 " (job %u)", g->rank, launch_of(w, group, g) + 1);
	return archive_stringf(w, "MPI Rank %" PRId64, g->rank);
}

static void archive_define_rank(struct writing *w, uint32_t ref, const struct merged_group *group, const struct node_group *g)
{
	OTF2_StringRef rank = archive_string(w, OTF2_PROPERTY_RANK), size = archive_string(w, OTF2_PROPERTY_SIZE),
		       launch = archive_string(w, OTF2_PROPERTY_LAUNCH);
	OTF2_AttributeValue value = { .uint32 = g->rank };

	DEFINE(w, LocationGroupProperty, ref, rank, OTF2_TYPE_UINT32, value);
	value.uint32 = g->launch_size;
	if (g->launch_size >= 0)
		DEFINE(w, LocationGroupProperty, ref, size, OTF2_TYPE_UINT32, value);
	value.stringRef = archive_text(w, group->node, g->launch);
	if (g->launch != REF_NONE)
		DEFINE(w, LocationGroupProperty, ref, launch, OTF2_TYPE_STRING, value);
}

/* Moments are of the node's clock; the archive has one for all nodes. */
static uint64_t property_number(const struct writing *w, uint32_t node, const struct node_property *property, const char *name)
{
	const char *last = strrchr(name, ' ');  /* Program 0001 Begin */
	bool moment = !strcmp(name, "Begin") || !strcmp(name, "End") || !strcmp(name, "Found") || (last && !strcmp(last, " Begin"));

	return moment ? (uint64_t)clocks_global(w->m, node, property->number) : property->number;
}

static void define_properties(struct writing *w)
{
	for (uint32_t n = 0; n < w->m->nnodes; n++) {
		const struct node *node = &w->m->nodes[n];

		for (size_t i = 0; i < node->properties.n; i++) {
			const struct node_property *property = &node->properties.v[i];
			uint32_t group = w->m->maps[n].groups[property->group];
			OTF2_StringRef name = archive_text(w, n, property->name);
			OTF2_AttributeValue value = { 0 };

			if (property->text != REF_NONE)
				value.stringRef = archive_text(w, n, property->text);
			else
				value.uint64 = property_number(w, n, property, node_string(node, property->name));
			DEFINE(w, LocationGroupProperty, group, name,
			       property->text != REF_NONE ? OTF2_TYPE_STRING : OTF2_TYPE_UINT64, value);
		}
	}
}

static void define_groups(struct writing *w)
{
	for (uint32_t i = 0; i < w->m->groups.n; i++) {
		const struct merged_group *group = &w->m->groups.v[i];
		OTF2_StringRef name = group_name(w, group, &w->m->nodes[group->node].groups.v[group->group]);

		DEFINE(w, LocationGroup, i, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 1 + group->node, OTF2_UNDEFINED_LOCATION_GROUP);
	}
	for (uint32_t i = 0; i < w->m->nranks; i++) {
		const struct merged_group *group = &w->m->groups.v[i];

		archive_define_rank(w, i, group, &w->m->nodes[group->node].groups.v[group->group]);
	}
	define_properties(w);
}

/* Writes the moments of one location, the next ones of its node. */
static void define_moments(struct writing *w, size_t n, size_t location, size_t *next)
{
	const struct node *node = &w->m->nodes[n];

	for (; *next < node->moments.n && node->moments.v[*next].location == location; ++*next) {
		const struct node_moment *moment = &node->moments.v[*next];
		OTF2_StringRef name = archive_text(w, n, moment->name);
		OTF2_AttributeValue value = { .uint64 = clocks_global(w->m, n, moment->time_ns) };

		DEFINE(w, LocationProperty, node->locations.v[location].id, name, OTF2_TYPE_UINT64, value);
	}
}

static void define_locations(struct writing *w)
{
	for (size_t n = 0; n < w->m->nnodes; n++) {
		size_t next = 0;

		for (size_t i = 0; i < w->m->nodes[n].locations.n; i++) {
			const struct node_location *l = &w->m->nodes[n].locations.v[i];

			DEFINE(w, Location, l->id, archive_text(w, n, l->name), OTF2_LOCATION_TYPE_CPU_THREAD, l->events,
			       w->m->maps[n].groups[l->group]);
			define_moments(w, n, i, &next);
		}
	}
}

static void archive_define_regions(struct writing *w)
{
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].regions.n; i++) {
			const struct node_region *r = &w->m->nodes[n].regions.v[i];

			if (w->m->maps[n].regions[i] != next)
				continue;
			DEFINE(w, Region, next, archive_text(w, n, r->name), archive_text(w, n, r->canonical),
			       archive_text(w, n, r->description), r->role, r->paradigm, OTF2_REGION_FLAG_NONE,
			       archive_text(w, n, r->file), 0, 0);
			next++;
		}
}

static void define_lines(struct writing *w)
{
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].lines.n; i++)
			if (w->m->maps[n].lines[i] == next) {
				DEFINE(w, SourceCodeLocation, next, archive_text(w, n, w->m->nodes[n].lines.v[i].file),
				       w->m->nodes[n].lines.v[i].line);
				next++;
			}
}

static void define_contexts(struct writing *w)
{
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].contexts.n; i++) {
			const struct node_context *c = &w->m->nodes[n].contexts.v[i];
			const struct node_map *map = &w->m->maps[n];

			if (map->contexts[i] != next)
				continue;
			DEFINE(w, CallingContext, next, map->regions[c->region],
			       c->line == REF_NONE ? OTF2_UNDEFINED_SOURCE_CODE_LOCATION : map->lines[c->line],
			       c->parent == REF_NONE ? OTF2_UNDEFINED_CALLING_CONTEXT : map->contexts[c->parent]);
			next++;
		}
}

/* The ranks' locations, in the order of the ranks: an index is the rank where there is one launch and all its ranks are here. */
static uint32_t list_locations(struct writing *w)
{
	for (uint32_t i = 0; i < w->m->nranks; i++) {
		const struct node *node = &w->m->nodes[w->m->groups.v[i].node];
		uint32_t master = node->groups.v[w->m->groups.v[i].group].master;

		w->members[i] = master < node->locations.n ? node->locations.v[master].id : OTF2_UNDEFINED_LOCATION;
	}
	return w->m->nranks;
}

/* Ranks are the first groups: a member's ref is its index. */
static uint32_t list_members(struct writing *w, const struct merged_comm *comm)
{
	for (uint32_t i = 0; i < comm->nmembers && !comm->self; i++)
		w->members[i] = comm->members[i];
	return comm->self ? 0 : comm->nmembers;
}

static OTF2_StringRef comm_name(struct writing *w, const struct merged_comm *comm)
{
	const char *name = w->m->strings.v.v[comm->name], *partial = comm->partial ? " (members that were recorded)" : "";

	if (comm->launch != REF_NONE && w->m->launches.n > 1)
		return archive_stringf(w, "%s%s (job %u)", name, partial, comm->launch + 1);
	return archive_stringf(w, "%s%s", name, partial);
}

/* Group 0 holds the ranks' locations, group 1 + i the members of communicator i. */
static void archive_define_comms(struct writing *w)
{
	OTF2_StringRef empty = archive_string(w, "");
	struct merge *m = w->m;

	if (!m->nranks && !m->comms.n)
		return;
	DEFINE(w, Group, 0, empty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, list_locations(w),
	       w->members);
	for (uint32_t i = 0; i < m->comms.n; i++) {
		const struct merged_comm *comm = &m->comms.v[i];
		OTF2_StringRef name = comm_name(w, comm);

		DEFINE(w, Group, 1 + i, name, comm->self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP,
		       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, list_members(w, comm), w->members);
	}
	for (uint32_t i = 0; i < m->comms.n; i++) {
		OTF2_StringRef name = comm_name(w, &m->comms.v[i]);

		DEFINE(w, Comm, i, name, 1 + i, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
	}
}

static void archive_define_attributes(struct writing *w)
{
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].attributes.n; i++) {
			const struct node_attribute *a = &w->m->nodes[n].attributes.v[i];

			if (w->m->maps[n].attributes[i] != next)
				continue;
			DEFINE(w, Attribute, next, archive_text(w, n, a->name), archive_text(w, n, a->description), a->type);
			next++;
		}
}

static void archive_define_file_property(struct writing *w, uint32_t file, const char *name, OTF2_StringRef value)
{
	OTF2_StringRef key = archive_string(w, name);
	OTF2_AttributeValue text_value = { .stringRef = value };

	if (value != OTF2_UNDEFINED_STRING)
		DEFINE(w, IoFileProperty, file, key, OTF2_TYPE_STRING, text_value);
}

static void archive_define_file_number(struct writing *w, uint32_t file, const char *name, uint64_t number)
{
	OTF2_StringRef key = number ? archive_string(w, name) : OTF2_UNDEFINED_STRING;
	OTF2_AttributeValue value = { .uint64 = number };

	if (number)
		DEFINE(w, IoFileProperty, file, key, OTF2_TYPE_UINT64, value);
}

/* Of a file that nodes share, a definition of one of them is used: its number of inodes is a lower bound, too. */
static void define_file(struct writing *w, uint32_t ref, size_t n, const struct node_file *f)
{
	OTF2_SystemTreeNodeRef scope = f->scope == SCOPE_SHARED ? NODE_MACHINE : f->scope == SCOPE_NODE ? 1 + n :
				       OTF2_UNDEFINED_SYSTEM_TREE_NODE;

	if (f->directory)
		DEFINE(w, IoDirectory, ref, archive_text(w, n, f->name), scope);
	else
		DEFINE(w, IoRegularFile, ref, archive_text(w, n, f->name), scope);
	archive_define_file_property(w, ref, "Mount Point", archive_text(w, n, f->mount_point));
	archive_define_file_property(w, ref, "Mount Source", archive_text(w, n, f->mount_source));
	archive_define_file_property(w, ref, "File system", archive_text(w, n, f->fs_type));
	archive_define_file_number(w, ref, "Inodes", f->inodes);
	archive_define_file_number(w, ref, "Block Size", f->block_bytes);
	archive_define_file_number(w, ref, "Stripe Size", w->stripes[ref].bytes);
	archive_define_file_number(w, ref, "Stripe Count", w->stripes[ref].count);
}

static void archive_define_files(struct writing *w)
{
	uint32_t next = 0;
	size_t fact = 0;

	for (size_t n = 0; n < w->m->nnodes; n++)
		for (size_t i = 0; i < w->m->nodes[n].files.n; i++) {
			if (w->m->maps[n].files[i] != next)
				continue;
			define_file(w, next, n, &w->m->nodes[n].files.v[i]);
			for (; fact < w->nfacts && w->facts[fact].file == next; fact++)
				archive_define_file_property(w, next, w->facts[fact].name,
							     archive_string(w, w->facts[fact].values));
			next++;
		}
}

static void define_handle(struct writing *w, uint32_t ref, size_t n, size_t i)
{
	const struct node_map *map = &w->m->maps[n];
	const struct node_handle *h = &w->m->nodes[n].handles.v[i];

	DEFINE(w, IoHandle, ref, archive_text(w, n, h->name),
	       h->file == REF_NONE || map->fileless[i] ? OTF2_UNDEFINED_IO_FILE : map->files[h->file], h->paradigm,
	       h->precreated ? OTF2_IO_HANDLE_FLAG_PRE_CREATED : OTF2_IO_HANDLE_FLAG_NONE,
	       h->comm == REF_NONE ? OTF2_UNDEFINED_COMM : map->comms[h->comm],
	       h->parent == REF_NONE ? OTF2_UNDEFINED_IO_HANDLE : map->handles[h->parent]);
	if (h->precreated)
		DEFINE(w, IoPreCreatedHandleState, ref, h->pre_mode, h->pre_status_flags);
}

static void archive_define_handles(struct writing *w)
{
	uint32_t next = 0;

	for (size_t n = 0; n < w->m->nnodes && !w->strings_only; n++)
		for (size_t i = 0; i < w->m->nodes[n].handles.n; i++)
			if (w->m->maps[n].handles[i] == next)
				define_handle(w, next++, n, i);
}

static void archive_define_all(struct writing *w)
{
	archive_define_paradigms(w);
	archive_define_system_tree(w);
	define_groups(w);
	define_locations(w);
	archive_define_regions(w);
	define_lines(w);
	define_contexts(w);
	archive_define_comms(w);
	archive_define_attributes(w);
	archive_define_files(w);
	archive_define_handles(w);
}

static void define_clock_and_strings(struct writing *w)
{
	const struct merge *m = w->m;

	if (w->code == OTF2_SUCCESS)
		w->code = OTF2_GlobalDefWriter_WriteClockProperties(w->writer, 1000000000, m->begin_ns, m->end_ns - m->begin_ns,
								    m->begin_ns);
	for (size_t i = 0; i < m->strings.v.n && w->code == OTF2_SUCCESS; i++)
		w->code = OTF2_GlobalDefWriter_WriteString(w->writer, i, m->strings.v.v[i]);
}

static void write_definitions(struct writing *w)
{
	w->writer = OTF2_Archive_GetGlobalDefWriter(w->archive);
	if (!w->writer) {
		w->code = OTF2_ERROR_INTEGRITY_FAULT;
		return;
	}
	w->facts = file_facts_new(w->m, &w->nfacts);
	w->stripes = file_stripes_new(w->m);
	if (w->facts && w->stripes) {
		w->strings_only = true;
		archive_define_all(w);
		define_clock_and_strings(w);
		w->strings_only = false;
		archive_define_all(w);
	} else {
		w->code = OTF2_ERROR_ENOMEM;
	}
	file_facts_free(w->facts, w->nfacts);
	free(w->stripes);
	w->code = otf2_library_checked(w->code);
	if (w->code == OTF2_SUCCESS)
		w->code = otf2_library_checked(OTF2_Archive_CloseGlobalDefWriter(w->archive, w->writer));
}

/* ---- the archive ---- */

/* A record must fit in a chunk: the longest are the group of all ranks and a node's table of handles. 0: no chunk is large
 * enough. */
uint64_t archive_chunk_bytes(const struct merge *m)
{
	uint64_t longest = 10 * (uint64_t)m->nranks, size = OTF2_CHUNK_BYTES;

	for (size_t n = 0; n < m->nnodes; n++) {
		uint64_t tables[] = { 6 * m->nodes[n].handles.n, 6 * m->nodes[n].files.n, 6 * m->nodes[n].regions.n };

		for (int i = 0; i < 3; i++)
			longest = tables[i] > longest ? tables[i] : longest;
	}
	while (size < longest + 4096)
		size *= 2;
	return size <= OTF2_CHUNK_BYTES_MAX ? size : 0;
}

static size_t most_members(const struct merge *m)
{
	size_t most = m->nranks;

	for (size_t c = 0; c < m->comms.n; c++)
		most = m->comms.v[c].nmembers > most ? m->comms.v[c].nmembers : most;
	return most;
}

int archive_merge(struct merge *m, const char *dir)
{
	struct writing w = { .m = m, .members = calloc(most_members(m) + 1, sizeof(*w.members)) };
	uint64_t chunk_bytes = archive_chunk_bytes(m);

	if (!w.members)
		return merge_fail(m, -ENOMEM, "out of memory");
	if (!chunk_bytes) {
		free(w.members);
		return merge_fail(m, -EFBIG, "cannot merge: a definition is larger than OTF2 allows (%u ranks)", m->nranks);
	}
	otf2_library_watch();
	w.archive = otf2_library_create(dir, "traces", m->nodes[0].head.event_chunk_bytes, chunk_bytes);
	w.code = w.archive ? OTF2_SUCCESS : OTF2_ERROR_INTEGRITY_FAULT;
	if (w.archive) {
		write_definitions(&w);
		if (w.code == OTF2_SUCCESS)
			w.code = archive_write_properties(m, w.archive);
		w.code = otf2_library_close(w.archive, w.code);
	}
	free(w.members);
	if (w.code == OTF2_SUCCESS)
		return 0;
	return merge_fail(m, otf2_library_errno(w.code), "cannot write %s: %s", m->out, otf2_library_message(w.code));
}
