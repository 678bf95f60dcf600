/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the global definitions and the properties of a node's archive with the OTF2 reader. What the archive must have for all that
 * follows is checked here, once.
 */
#include "merge/node_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "otf2/otf2_library.h"

int node_read_fail(struct reading *r, int error, const char *what)
{
	if (!r->error)
		snprintf(r->err, r->err_len, "cannot merge %s: %s", r->dir, what);
	return r->error = r->error ? r->error : error;
}

static int fail_library(struct reading *r, OTF2_ErrorCode code)
{
	return node_read_fail(r, otf2_library_errno(code), otf2_library_message(code));
}

/* ---- definitions ---- */

static OTF2_CallbackCode node_read_stop(struct reading *r, const char *what)
{
	node_read_fail(r, -EBADMSG, what);
	return OTF2_CALLBACK_INTERRUPT;
}

static void *node_read_added(struct reading *r, void *element)
{
	if (!element)
		node_read_fail(r, -ENOMEM, "out of memory");
	return element;
}

/* Refs must be dense and ascending, as ioprobe writes them. */
static bool node_read_is_next(struct reading *r, uint32_t ref, size_t n)
{
	if (ref != n)
		node_read_fail(r, -EBADMSG, "its definitions are not dense");
	return ref == n;
}

/* Returns the next element of an array of the node; NULL: the reading has failed. */
#define NEXT(array, ref) \
	((typeof((array).v))(node_read_is_next(r, ref, (array).n) ? node_read_added(r, MODEL_ADD(array)) : NULL))

static uint32_t undefined_to_none(uint32_t ref)
{
	return ref == OTF2_UNDEFINED_UINT32 ? REF_NONE : ref;
}

static OTF2_CallbackCode node_read_on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
	struct reading *r = data;

	(void)realtime;
	r->resolution = resolution;
	r->node->head.clock_begin_ns = offset;
	r->node->head.clock_length_ns = length;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_string(void *data, OTF2_StringRef ref, const char *text)
{
	struct reading *r = data;

	if (ref != r->node->strings.n)
		return node_read_stop(r, "its definitions are not dense");
	return node_string_add(r->node, text) == ref ? OTF2_CALLBACK_SUCCESS : node_read_stop(r, "out of memory");
}

static OTF2_CallbackCode node_read_on_paradigm(void *data, OTF2_Paradigm paradigm, OTF2_StringRef name, OTF2_ParadigmClass class)
{
	struct reading *r = data;

	(void)name, (void)class;
	r->node->head.uses_mpi |= paradigm == OTF2_PARADIGM_MPI;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_io_paradigm(void *data, OTF2_IoParadigmRef ref, OTF2_StringRef identification,
						  OTF2_StringRef name, OTF2_IoParadigmClass class, OTF2_IoParadigmFlag flags,
						  uint8_t n, const OTF2_IoParadigmProperty *properties, const OTF2_Type *types,
						  const OTF2_AttributeValue *values)
{
	struct reading *r = data;
	struct node_paradigm *p = NEXT(r->node->paradigms, ref);

	if (!p)
		return OTF2_CALLBACK_INTERRUPT;
	*p = (struct node_paradigm){ identification, name, REF_NONE, class == OTF2_IO_PARADIGM_CLASS_PARALLEL,
				     flags & OTF2_IO_PARADIGM_FLAG_OS };
	for (uint8_t i = 0; i < n; i++)
		if (properties[i] == OTF2_IO_PARADIGM_PROPERTY_VERSION && types[i] == OTF2_TYPE_STRING)
			p->version = values[i].stringRef;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_tree_node(void *data, OTF2_SystemTreeNodeRef ref, OTF2_StringRef name, OTF2_StringRef class,
						OTF2_SystemTreeNodeRef parent)
{
	struct reading *r = data;
	bool *is_root = NEXT(r->is_root, ref);

	if (!is_root)
		return OTF2_CALLBACK_INTERRUPT;
	*is_root = parent == OTF2_UNDEFINED_SYSTEM_TREE_NODE;
	if (!strcmp(node_string(r->node, class), "node")) {
		if (r->node->head.host != REF_NONE)
			return node_read_stop(r, "it is of several nodes already");
		r->node->head.host = name;
	} else if (*is_root) {
		r->node->head.machine = name;
	}
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_group(void *data, OTF2_LocationGroupRef ref, OTF2_StringRef name, OTF2_LocationGroupType type,
					    OTF2_SystemTreeNodeRef parent, OTF2_LocationGroupRef creator)
{
	struct reading *r = data;
	struct node_group *g = NEXT(r->node->groups, ref);

	if (!g)
		return OTF2_CALLBACK_INTERRUPT;
	(void)type, (void)parent, (void)creator;
	*g = (struct node_group){ .name = name, .launch = REF_NONE, .master = REF_NONE, .rank = -1, .launch_size = -1 };
	return OTF2_CALLBACK_SUCCESS;
}

static int add_property(struct node *node, const struct node_property *property)
{
	struct node_property *added = MODEL_ADD(node->properties);

	if (added)
		*added = *property;
	return added ? 0 : -ENOMEM;
}

static OTF2_CallbackCode node_read_on_group_property(void *data, OTF2_LocationGroupRef group, OTF2_StringRef name, OTF2_Type type,
						     OTF2_AttributeValue value)
{
	struct reading *r = data;
	const char *text = node_string(r->node, name);
	struct node_group *g = &r->node->groups.v[group];

	if (group >= r->node->groups.n)
		return node_read_stop(r, "a property is of an undefined group");
	if (!strcmp(text, OTF2_PROPERTY_RANK) && type == OTF2_TYPE_UINT32)
		g->rank = value.uint32;
	else if (!strcmp(text, OTF2_PROPERTY_SIZE) && type == OTF2_TYPE_UINT32)
		g->launch_size = value.uint32;
	else if (!strcmp(text, OTF2_PROPERTY_LAUNCH) && type == OTF2_TYPE_STRING)
		g->launch = value.stringRef;
	else if (type == OTF2_TYPE_STRING || type == OTF2_TYPE_UINT64)
		return add_property(r->node, &(struct node_property){ group, name,
			type == OTF2_TYPE_STRING ? value.stringRef : REF_NONE,
								      type == OTF2_TYPE_STRING ? 0 : value.uint64 }) ?
		       node_read_stop(r, "out of memory") : OTF2_CALLBACK_SUCCESS;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_location(void *data, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
					       uint64_t events, OTF2_LocationGroupRef group)
{
	struct reading *r = data;
	struct node_location *l = MODEL_ADD(r->node->locations);

	(void)type;
	if (!l)
		return node_read_stop(r, "out of memory");
	*l = (struct node_location){ id, events, name, group };
	return OTF2_CALLBACK_SUCCESS;
}

/* Properties follow their location. */
static OTF2_CallbackCode node_read_on_location_property(void *data, OTF2_LocationRef id, OTF2_StringRef name, OTF2_Type type,
							OTF2_AttributeValue value)
{
	struct reading *r = data;
	size_t n = r->node->locations.n;
	struct node_moment *moment;

	if (type != OTF2_TYPE_UINT64)
		return OTF2_CALLBACK_SUCCESS;
	if (!n || r->node->locations.v[n - 1].id != id)
		return node_read_stop(r, "a property of a location does not follow it");
	moment = MODEL_ADD(r->node->moments);
	if (!moment)
		return node_read_stop(r, "out of memory");
	*moment = (struct node_moment){ n - 1, name, value.uint64 };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_region(void *data, OTF2_RegionRef ref, OTF2_StringRef name, OTF2_StringRef canonical,
					     OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
					     OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end)
{
	struct reading *r = data;
	struct node_region *region = NEXT(r->node->regions, ref);

	if (!region)
		return OTF2_CALLBACK_INTERRUPT;
	(void)flags, (void)begin, (void)end;
	*region = (struct node_region){ name, canonical, description, role, paradigm, file };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_line(void *data, OTF2_SourceCodeLocationRef ref, OTF2_StringRef file, uint32_t number)
{
	struct reading *r = data;
	struct node_line *line = NEXT(r->node->lines, ref);

	if (!line)
		return OTF2_CALLBACK_INTERRUPT;
	*line = (struct node_line){ file, number };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_context(void *data, OTF2_CallingContextRef ref, OTF2_RegionRef region,
					      OTF2_SourceCodeLocationRef line, OTF2_CallingContextRef parent)
{
	struct reading *r = data;
	struct node_context *c = NEXT(r->node->contexts, ref);

	if (!c)
		return OTF2_CALLBACK_INTERRUPT;
	*c = (struct node_context){ region, undefined_to_none(line), undefined_to_none(parent) };
	if (region >= r->node->regions.n || (c->line != REF_NONE && line >= r->node->lines.n) ||
	    (c->parent != REF_NONE && parent >= ref))
		return node_read_stop(r, "a calling context refers to a definition that does not precede it");
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_members(void *data, OTF2_GroupRef ref, OTF2_StringRef name, OTF2_GroupType type,
					      OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
	struct reading *r = data;
	struct raw_group *group = NEXT(r->groups, ref);

	if (!group)
		return OTF2_CALLBACK_INTERRUPT;
	(void)name, (void)paradigm, (void)flags;
	group->type = type;
	group->members = calloc(n + 1, sizeof(*members));
	if (!group->members)
		return node_read_stop(r, "out of memory");
	if (n)
		memcpy(group->members, members, n * sizeof(*members));
	group->n = n;
	return OTF2_CALLBACK_SUCCESS;
}

/* first_member is the OTF2 group until all is read. */
static OTF2_CallbackCode node_read_on_comm(void *data, OTF2_CommRef ref, OTF2_StringRef name, OTF2_GroupRef group,
					   OTF2_CommRef parent, OTF2_CommFlag flags)
{
	struct reading *r = data;
	struct node_comm *comm = NEXT(r->node->comms, ref);

	if (!comm)
		return OTF2_CALLBACK_INTERRUPT;
	(void)parent, (void)flags;
	*comm = (struct node_comm){ .name = name, .first_member = group };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_attribute(void *data, OTF2_AttributeRef ref, OTF2_StringRef name, OTF2_StringRef description,
						OTF2_Type type)
{
	struct reading *r = data;
	struct node_attribute *a = NEXT(r->node->attributes, ref);

	if (!a)
		return OTF2_CALLBACK_INTERRUPT;
	*a = (struct node_attribute){ name, description, type };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_add_file(struct reading *r, OTF2_IoFileRef ref, OTF2_StringRef name, uint32_t scope,
					    bool directory)
{
	struct node_file *f = NEXT(r->node->files, ref);
	bool known = scope < r->is_root.n;

	if (!f)
		return OTF2_CALLBACK_INTERRUPT;
	*f = (struct node_file){ .name = name, .mount_point = REF_NONE, .mount_source = REF_NONE, .fs_type = REF_NONE,
				 .scope = !known ? SCOPE_UNKNOWN : r->is_root.v[scope] ? SCOPE_SHARED : SCOPE_NODE,
				 .directory = directory };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_file(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	return node_read_add_file(data, ref, name, scope, false);
}

static OTF2_CallbackCode node_read_on_directory(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	return node_read_add_file(data, ref, name, scope, true);
}

static OTF2_CallbackCode node_read_add_fact(struct reading *r, OTF2_IoFileRef file, OTF2_StringRef name, OTF2_StringRef value)
{
	struct node_file_fact *fact = MODEL_ADD(r->node->file_facts);

	if (!fact)
		return node_read_stop(r, "out of memory");
	*fact = (struct node_file_fact){ file, name, value };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_file_property(void *data, OTF2_IoFileRef file, OTF2_StringRef name, OTF2_Type type,
						    OTF2_AttributeValue value)
{
	struct reading *r = data;
	const char *text = node_string(r->node, name);
	struct node_file *f = &r->node->files.v[file];

	if (file >= r->node->files.n)
		return node_read_stop(r, "a property is of an undefined file");
	if (type == OTF2_TYPE_UINT64 && !strcmp(text, "Inodes"))
		f->inodes = value.uint64;
	else if (type == OTF2_TYPE_UINT64 && !strcmp(text, "Block Size"))
		f->block_bytes = value.uint64;
	else if (type == OTF2_TYPE_UINT64 && !strcmp(text, "Stripe Size"))
		f->stripe_bytes = value.uint64;
	else if (type == OTF2_TYPE_UINT64 && !strcmp(text, "Stripe Count"))
		f->stripe_count = value.uint64;
	if (type != OTF2_TYPE_STRING)
		return OTF2_CALLBACK_SUCCESS;
	if (!strcmp(text, "Mount Point"))
		f->mount_point = value.stringRef;
	else if (!strcmp(text, "Mount Source"))
		f->mount_source = value.stringRef;
	else if (!strcmp(text, "File system"))
		f->fs_type = value.stringRef;
	else
		return node_read_add_fact(r, file, name, value.stringRef);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_handle(void *data, OTF2_IoHandleRef ref, OTF2_StringRef name, OTF2_IoFileRef file,
					     OTF2_IoParadigmRef paradigm, OTF2_IoHandleFlag flags, OTF2_CommRef comm,
					     OTF2_IoHandleRef parent)
{
	struct reading *r = data;
	struct node_handle *h = NEXT(r->node->handles, ref);

	if (!h)
		return OTF2_CALLBACK_INTERRUPT;
	*h = (struct node_handle){ .name = name, .file = undefined_to_none(file), .paradigm = paradigm,
		.comm = undefined_to_none(comm), .parent = undefined_to_none(parent),
		.precreated = flags & OTF2_IO_HANDLE_FLAG_PRE_CREATED };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node_read_on_precreated(void *data, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
						 OTF2_IoStatusFlag flags)
{
	struct reading *r = data;

	if (handle >= r->node->handles.n)
		return node_read_stop(r, "a pre-created handle is not defined");
	r->node->handles.v[handle].pre_mode = mode;
	r->node->handles.v[handle].pre_status_flags = flags;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_GlobalDefReaderCallbacks *node_read_callbacks_new(void)
{
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();

	if (!c)
		return NULL;
#define SET(type, function) OTF2_GlobalDefReaderCallbacks_Set##type##Callback(c, function)
	SET(ClockProperties, node_read_on_clock);
	SET(String, node_read_on_string);
	SET(Paradigm, node_read_on_paradigm);
	SET(IoParadigm, node_read_on_io_paradigm);
	SET(SystemTreeNode, node_read_on_tree_node);
	SET(LocationGroup, node_read_on_group);
	SET(LocationGroupProperty, node_read_on_group_property);
	SET(LocationProperty, node_read_on_location_property);
	SET(Location, node_read_on_location);
	SET(Region, node_read_on_region);
	SET(SourceCodeLocation, node_read_on_line);
	SET(CallingContext, node_read_on_context);
	SET(Group, node_read_on_members);
	SET(Comm, node_read_on_comm);
	SET(Attribute, node_read_on_attribute);
	SET(IoRegularFile, node_read_on_file);
	SET(IoDirectory, node_read_on_directory);
	SET(IoFileProperty, node_read_on_file_property);
	SET(IoHandle, node_read_on_handle);
	SET(IoPreCreatedHandleState, node_read_on_precreated);
#undef SET
	return c;
}

static int node_read_read_definitions(struct reading *r)
{
	OTF2_GlobalDefReaderCallbacks *callbacks = node_read_callbacks_new();
	OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(r->reader);
	OTF2_ErrorCode code = OTF2_ERROR_INTEGRITY_FAULT;
	uint64_t n;

	if (callbacks && definitions)
		code = OTF2_Reader_RegisterGlobalDefCallbacks(r->reader, definitions, callbacks, r);
	if (code == OTF2_SUCCESS)
		code = OTF2_Reader_ReadAllGlobalDefinitions(r->reader, definitions, &n);
	if (callbacks)
		OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
	return r->error ? r->error : code == OTF2_SUCCESS ? 0 : fail_library(r, code);
}

/* ---- what can be resolved when all is read ---- */

struct id_index { uint64_t id; uint32_t index; };

static int node_read_by_id(const void *a, const void *b)
{
	const struct id_index *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The groups of the communication locations, in their order. NULL without memory. */
static uint32_t *communicating_groups(struct reading *r, const struct raw_group *locations)
{
	struct node *node = r->node;
	struct id_index *ids = calloc(node->locations.n + 1, sizeof(*ids));
	uint32_t *groups = calloc(locations->n + 1, sizeof(*groups));

	for (uint32_t i = 0; ids && i < node->locations.n; i++)
		ids[i] = (struct id_index){ node->locations.v[i].id, i };
	if (ids)
		qsort(ids, node->locations.n, sizeof(*ids), node_read_by_id);
	for (uint32_t i = 0; ids && groups && i < locations->n; i++) {
		struct id_index key = { locations->members[i], 0 },
				*found = bsearch(&key, ids, node->locations.n, sizeof(*ids), node_read_by_id);

		if (!found) {
			node_read_fail(r, -EBADMSG, "a communicating location is not defined");
			break;
		}
		groups[i] = node->locations.v[found->index].group;
		node->groups.v[groups[i]].master = found->index;
	}
	if (!ids || !groups)
		node_read_fail(r, -ENOMEM, "out of memory");
	free(ids);
	return groups;
}

static int node_read_add_members(struct reading *r, struct node_comm *comm, const struct raw_group *group, const uint32_t *groups,
				 uint32_t n)
{
	comm->self = group->type == OTF2_GROUP_TYPE_COMM_SELF;
	comm->first_member = r->node->members.n;
	for (uint32_t i = 0; i < group->n; i++) {
		uint32_t *member = group->members[i] < n ? MODEL_ADD(r->node->members) : NULL;

		if (!member)
			return node_read_fail(r, group->members[i] < n ? -ENOMEM : -EBADMSG,
				    "the members of a communicator cannot be resolved");
		*member = groups[group->members[i]];
	}
	comm->nmembers = group->n;
	return 0;
}

static int resolve_comms(struct reading *r)
{
	const struct raw_group none = { 0 }, *locations = &none;
	uint32_t *groups;

	for (size_t i = 0; i < r->groups.n; i++)
		if (r->groups.v[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
			locations = &r->groups.v[i];
	groups = communicating_groups(r, locations);
	for (size_t c = 0; c < r->node->comms.n && !r->error; c++) {
		struct node_comm *comm = &r->node->comms.v[c];

		if (comm->first_member >= r->groups.n)
			node_read_fail(r, -EBADMSG, "a communicator has no members");
		else
			node_read_add_members(r, comm, &r->groups.v[comm->first_member], groups, locations->n);
	}
	free(groups);
	return r->error;
}

/* All refs that are followed without a further look. */
static int check_refs(struct reading *r)
{
	const struct node *node = r->node;
	bool good = node->head.host != REF_NONE && r->resolution == 1000000000;

	for (size_t i = 0; i < node->locations.n; i++)
		good &= node->locations.v[i].group < node->groups.n;
	for (size_t i = 0; i < node->handles.n; i++) {
		const struct node_handle *h = &node->handles.v[i];

		good &= (h->file == REF_NONE || h->file < node->files.n) && h->paradigm < node->paradigms.n &&
			(h->comm == REF_NONE || h->comm < node->comms.n) && (h->parent == REF_NONE || h->parent < i);
	}
	return good ? 0 : node_read_fail(r, -EBADMSG, "its definitions are damaged");
}

/* ---- all ---- */

static int node_read_open_reader(struct reading *r)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/traces.otf2", r->dir);
	if (access(r->dir, F_OK))
		return node_read_fail(r, -errno, strerror(errno));
	if (access(path, R_OK))
		return node_read_fail(r, -errno, errno == ENOENT ? "there is no archive (traces.otf2) in it" : strerror(errno));
	otf2_library_watch();
	r->reader = OTF2_Reader_Open(path);
	if (!r->reader)
		return fail_library(r, OTF2_ERROR_INTEGRITY_FAULT);
	if (OTF2_Reader_SetSerialCollectiveCallbacks(r->reader) != OTF2_SUCCESS ||
	    OTF2_Reader_GetChunkSize(r->reader, &r->node->head.event_chunk_bytes, &r->node->head.definition_chunk_bytes) !=
		    OTF2_SUCCESS)
		return fail_library(r, OTF2_ERROR_INTEGRITY_FAULT);
	return 0;
}

static void node_read_count_members(struct node *node)
{
	node->head.threads = node->locations.n;
	node->head.processes = node->groups.n;
	for (size_t i = 0; i < node->groups.n; i++)
		node->head.ranks += node->groups.v[i].rank >= 0;
}

int node_read(struct node *node, const char *dir, char *err, size_t err_len)
{
	struct reading r = { .node = node, .dir = dir, .err = err, .err_len = err_len };

	*node = (struct node){ .dir = dir, .head = { .host = REF_NONE, .version = REF_NONE, .batch_job = REF_NONE,
		.machine = REF_NONE } };
	if (!node_read_open_reader(&r) && !node_read_read_definitions(&r) && !node_read_properties(&r) && !check_refs(&r))
		resolve_comms(&r);
	node_read_count_members(node);
	if (!r.error)
		r.error = node_read_collectives(node, err, err_len);
	if (r.reader)
		OTF2_Reader_Close(r.reader);
	for (size_t i = 0; i < r.groups.n; i++)
		free(r.groups.v[i].members);
	free(r.groups.v);
	free(r.is_root.v);
	if (r.error)
		node_deinit(node);
	return r.error;
}
